#include "node/host/host_pressure.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/unique_fd.h"

namespace glovebox::node {
namespace {

// Of the host's memory, in parts: below the first nothing new is admitted; below the second, if
// processes wait for memory as well. Their waiting alone says nothing about the host: a program
// that works at the limit of its own sandbox causes it, too, and must not lock others out.
constexpr std::uint64_t kAlmostNone = 32;
constexpr std::uint64_t kLittle = 8;
constexpr double kStalledPercent = 10;
// What the launcher keeps free of what all sandboxes may use; see SandboxMaker::check_room().
constexpr std::uint32_t kSparePids = 32;
constexpr std::uint64_t kSpareMemory = 32;

// The text after `word` up to the end of its line; empty if it is not there.
std::string_view after_word(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + word.size());
  text = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::optional<std::uint64_t> kilobytes_after(std::string_view text, std::string_view word) {
  const std::string_view digits = after_word(text, word);
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (ec != std::errc{}) return std::nullopt;
  return value << 10;
}

std::string read_proc_file(const char* path) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t got = fd ? ::read(fd.get(), text, sizeof text) : 0;
  return std::string(text, got > 0 ? static_cast<std::size_t>(got) : 0);
}

std::string in_megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

}  // namespace

HostSample parse_host_sample(std::string_view meminfo, std::string_view pressure) {
  HostSample sample;
  sample.total_bytes = kilobytes_after(meminfo, "MemTotal:");
  sample.available_bytes = kilobytes_after(meminfo, "MemAvailable:");
  // "full avg10=0.00 avg60=0.00 avg300=0.00 total=0"
  const std::string_view stalled = after_word(pressure, "full avg10=");
  double percent = 0;
  const auto [end, ec] = std::from_chars(stalled.data(), stalled.data() + stalled.size(), percent);
  if (ec == std::errc{}) sample.stalled_percent = percent;
  return sample;
}

HostSample read_host_sample() {
  return parse_host_sample(read_proc_file("/proc/meminfo"),
                           read_proc_file("/proc/pressure/memory"));
}

void HostPressure::sample() {
  if (source_) sample_ = source_();
}

void HostPressure::set_launcher_measurement(const wire::HostMeasured& measured) {
  launcher_ = measured;
}

std::string HostPressure::full_reason() const {
  const wire::HostMeasured& all = launcher_;
  if (all.pids_limit != 0 && all.pids + std::min(kSparePids, all.pids_limit / 8) > all.pids_limit) {
    return "all sandboxes together have " + std::to_string(all.pids) + " of at most " +
           std::to_string(all.pids_limit) + " processes";
  }
  if (all.memory_limit_bytes != 0 &&
      all.memory_bytes > all.memory_limit_bytes - all.memory_limit_bytes / kSpareMemory) {
    return "all sandboxes together use " + in_megabytes(all.memory_bytes) + " of at most " +
           in_megabytes(all.memory_limit_bytes) + " of memory";
  }
  if (!sample_.total_bytes || !sample_.available_bytes) return {};
  const std::uint64_t left = *sample_.available_bytes;
  const bool stalls = sample_.stalled_percent.value_or(0) >= kStalledPercent;
  if (left < *sample_.total_bytes / kAlmostNone ||
      (stalls && left < *sample_.total_bytes / kLittle)) {
    return "the host has " + in_megabytes(left) + " of memory left";
  }
  return {};
}

HostFigures HostPressure::figures() const {
  return {.memory_bytes = launcher_.memory_bytes,
          .memory_limit_bytes = launcher_.memory_limit_bytes,
          .socket_bytes = launcher_.socket_bytes,
          .pids = launcher_.pids,
          .pids_limit = launcher_.pids_limit,
          .stalled_percent = sample_.stalled_percent.value_or(0),
          .full_reason = full_reason()};
}

}  // namespace glovebox::node
