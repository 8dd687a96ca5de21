#include "dialects/mcp/truncated_text.h"

#include "base/utf8.h"
#include "base/utf8_cut.h"
#include "wire/runs/run_answer.h"

namespace glovebox::mcp {

void TruncatedText::add(std::string_view bytes) {
  total_ += bytes.size();
  const std::size_t first = std::min(bytes.size(), half_ - head_.size());
  head_.append(bytes.substr(0, first));
  bytes.remove_prefix(first);
  if (bytes.size() >= half_) {
    tail_.assign(bytes.substr(bytes.size() - half_));
    return;
  }
  tail_.append(bytes);
  if (tail_.size() > 2 * half_) tail_.erase(0, tail_.size() - half_);
}

std::string TruncatedText::text(std::size_t most, bool* was_cut) const {
  constexpr std::size_t kLine = 64;  // the line about what is left out
  std::size_t half = std::min(half_, most / 2);
  std::string text = cut(half);
  if (text.size() > 2 * half + kLine) {
    half /= 3;
    text = cut(half);
  }
  if (was_cut != nullptr) *was_cut = total_ > 2 * half;
  return text;
}

std::string TruncatedText::cut(std::size_t half) const {
  std::string_view tail = tail_;
  if (tail.size() > half_) tail.remove_prefix(tail.size() - half_);
  if (total_ <= 2 * half) return to_utf8(head_ + std::string(tail));
  const std::string_view head = std::string_view(head_).substr(0, half);
  // A short tail is filled up with the end of the head.
  const std::string both = tail.size() < half ? head_ + std::string(tail) : std::string();
  if (!both.empty()) tail = both;
  tail.remove_prefix(tail.size() - half);
  // Neither end of the gap splits a character.
  wire::Utf8Chunker pieces;
  std::string text = to_utf8(pieces.add(head));
  const std::uint64_t missing = total_ - head.size() - tail.size();
  tail = skip_partial_character(tail);
  text += "\n[... " + std::to_string(missing) + " bytes are left out here ...]\n";
  return text + to_utf8(tail);
}

std::string truncate_middle(std::string_view text, std::size_t limit) {
  TruncatedText kept(limit);
  kept.add(text);
  return kept.text();
}

}  // namespace glovebox::mcp
