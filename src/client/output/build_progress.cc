#include "client/output/build_progress.h"

#include <algorithm>

#include "client/output/print.h"

namespace glovebox::client {
namespace {

struct Phase {
  std::string_view name;
  std::string_view text;
};
constexpr std::string_view kWarming = "warming";
constexpr std::string_view kReady = "ready";
constexpr Phase kPhases[] = {
    {"queued", "waiting for other builds"},
    {"resolving", "resolving and downloading"},
    {"building", "building from source"},
    {"installing", "installing"},
    {"sealing", "storing"},
    {"checking", "verifying"},
    {kWarming, "starting an interpreter"},
    {kReady, ""},
};
// Phases that make nothing.
constexpr std::string_view kIdle[] = {"queued", "checking", kWarming, kReady};

constexpr std::string_view kHead = "glovebox: packages: ";
// A failure's message has at most 8 KB.
constexpr std::size_t kRemembered = 512;
constexpr std::string_view kSpace = " \t\r\n";

std::string phase_text(std::string_view phase) {
  for (const Phase& known : kPhases) {
    if (known.name == phase) return std::string(known.text);
  }
  return printable(std::string(phase));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

template <class OnLine>
void for_each_line(std::string_view text, OnLine on_line) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    on_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::string BuildProgress::add(std::string_view phase, std::string_view text) {
  const bool is_idle = std::find(std::begin(kIdle), std::end(kIdle), phase) != std::end(kIdle);
  has_built_ = has_built_ || !is_idle;
  if (phase == kWarming && !has_built_) return {};
  std::string out;
  if (phase != phase_) {
    phase_ = phase;
    const std::string description = phase_text(phase);
    if (!description.empty()) out += std::string(kHead) + description + "\n";
  }
  if (phase == kWarming) return out + cold_start_text(text);
  for_each_line(text, [&](std::string_view line) {
    out += "  " + printable(line) + "\n";
    shown_.emplace_back(trimmed(line));
    if (shown_.size() > kRemembered) shown_.pop_front();
  });
  return out;
}

// The last line of a traceback names the exception; of nested reasons the innermost is shown.
std::string BuildProgress::cold_start_text(std::string_view text) const {
  constexpr std::string_view kBecause = "cold: ";
  text = trimmed(text);
  if (text.empty()) return {};
  text.remove_prefix(text.rfind('\n') + 1);  // npos + 1 is 0
  if (const std::size_t at = text.rfind(kBecause); at != std::string_view::npos) {
    text.remove_prefix(at + kBecause.size());
  }
  return std::string(kHead) + "runs with these packages start cold: " + printable(text) + "\n";
}

bool BuildProgress::was_shown(std::string_view line) const {
  return std::find(shown_.begin(), shown_.end(), line) != shown_.end();
}

std::string BuildProgress::failure_message(std::string_view message) const {
  std::string left;
  bool is_first = true;
  for_each_line(message, [&](std::string_view line) {
    const std::string_view text = trimmed(line);
    // The server may have put a prefix before the installer's first line.
    const std::size_t colon = is_first ? text.find(": ") : std::string_view::npos;
    const bool known =
        text.empty() || was_shown(text) ||
        (colon != std::string_view::npos && was_shown(trimmed(text.substr(colon + 2))));
    is_first = false;
    if (!known) left += (left.empty() ? "" : "\n") + std::string(line);
  });
  return left.empty() ? "the packages could not be installed" : left;
}

}  // namespace glovebox::client
