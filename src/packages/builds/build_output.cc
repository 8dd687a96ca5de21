#include "packages/builds/build_output.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "base/utf8.h"
#include "base/utf8_cut.h"

namespace glovebox::packages {
namespace {

// Long enough to find a secret that begins before the cut.
constexpr std::size_t kKeptOfLine = 8 * BuildOutput::kMostLine;
constexpr std::string_view kHidden = "****";
constexpr std::string_view kCut = "...";

void hide(std::string& text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kHidden.size())) {
      text.replace(at, secret.size(), kHidden);
    }
  }
}

// Never cuts inside a UTF-8 character.
std::string cut_line(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  text.resize(utf8_cut(text, most - std::min(most, kCut.size())));
  text += kCut;
  return text;
}

// Invisible characters that reorder or break text, so that a reader would see another line than the
// program printed: U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
bool changes_direction(std::string_view three) {
  if (three.size() < 3 || three[0] != '\xe2') return false;
  const auto second = static_cast<unsigned char>(three[1]);
  const auto third = static_cast<unsigned char>(three[2]);
  if (second == 0x80) return third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae);
  return second == 0x81 && third >= 0xa6 && third <= 0xa9;
}

// `text` is UTF-8.
std::string without_direction_marks(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!changes_direction(text.substr(at, 3))) {
      shown += text[at];
      continue;
    }
    const unsigned low = (static_cast<unsigned char>(text[at + 1]) & 0x3fu) << 6 |
                         (static_cast<unsigned char>(text[at + 2]) & 0x3fu);
    shown += "\\u20";
    append_hex(shown, static_cast<unsigned char>(low));
    at += 2;
  }
  return shown;
}

}  // namespace

std::string printable_line(std::string_view line, std::size_t most,
                           const std::vector<std::string>& secrets) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  std::string text(line.substr(0, 4 * most));
  hide(text, secrets);
  std::replace(text.begin(), text.end(), '\t', ' ');
  return cut_line(without_direction_marks(printable(cut_line(std::move(text), most))), most);
}

std::string printable_text(std::string_view text, std::size_t most,
                           const std::vector<std::string>& secrets) {
  std::string whole(text.substr(0, 4 * most));
  hide(whole, secrets);  // a secret may contain a line break
  std::string_view rest = whole;
  std::string shown;
  while (!rest.empty() && shown.size() <= most) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::string one = printable_line(line, most, {});
    if (one.empty() && shown.empty()) continue;
    if (!shown.empty()) shown += '\n';
    shown += one;
  }
  while (!shown.empty() && shown.back() == '\n') shown.pop_back();
  return cut_line(std::move(shown), most);
}

BuildOutput::BuildOutput(OnLine on_line, std::vector<std::string> secrets,
                         std::function<Clock::time_point()> now)
    : on_line_(std::move(on_line)),
      secrets_(std::move(secrets)),
      now_(std::move(now)),
      filled_at_(now_()) {}

void BuildOutput::add(From from, std::string_view bytes) {
  std::string& begun = begun_[static_cast<std::size_t>(from)];
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    begun += piece.substr(0, kKeptOfLine - std::min(kKeptOfLine, begun.size()));
    if (end == std::string_view::npos) return;
    line(std::exchange(begun, {}));
    bytes.remove_prefix(end + 1);
  }
}

void BuildOutput::finish() {
  for (std::string& begun : begun_) line(std::exchange(begun, {}));
  if (left_out_ > 0 && on_line_) on_line_("(" + std::to_string(left_out_) + " lines left out)");
  left_out_ = 0;
}

void BuildOutput::line(std::string_view text) {
  std::string shown = printable_line(text, kMostLine, secrets_);
  if (shown.empty()) return;
  if (tail_.size() == kTail) tail_.pop_front();
  tail_.push_back(shown);
  if (!may_show()) {
    ++left_out_;
    return;
  }
  if (left_out_ > 0 && on_line_) on_line_("(" + std::to_string(left_out_) + " lines left out)");
  left_out_ = 0;
  ++shown_;
  if (on_line_) on_line_(std::move(shown));
}

bool BuildOutput::may_show() {
  if (shown_ >= kMostLines) return false;
  const Clock::time_point now = now_();
  room_ += std::chrono::duration<double>(now - filled_at_).count() * kPerSecond;
  room_ = std::min(room_, static_cast<double>(kAtOnce));
  filled_at_ = now;
  if (room_ < 1) return false;
  room_ -= 1;
  return true;
}

std::string BuildOutput::tail() const {
  std::string all;
  for (const std::string& one : tail_) all += (all.empty() ? "" : "\n") + one;
  return all;
}

}  // namespace glovebox::packages
