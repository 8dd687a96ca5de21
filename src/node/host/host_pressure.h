// Whether this host can take another sandbox now: its memory and its processes, as the kernel and
// the launcher report them. Sampled every half second by SandboxAllocator; no new sandbox is
// admitted while the host is full, so that requests wait or are refused before the kernel has to
// kill a process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "wire/launcher/launcher_messages.h"

namespace glovebox::node {

// What the kernel says; nothing where it does not.
struct HostSample {
  // /proc/pressure/memory: the part of the last ten seconds, in percent, in which every process
  // that could run waited for memory.
  std::optional<double> stalled_percent;
  std::optional<std::uint64_t> total_bytes;      // /proc/meminfo: MemTotal
  std::optional<std::uint64_t> available_bytes;  // and MemAvailable
  bool operator==(const HostSample&) const = default;
};

// The texts of /proc/meminfo and /proc/pressure/memory; empty: it cannot be read.
HostSample parse_host_sample(std::string_view meminfo, std::string_view pressure);
HostSample read_host_sample();

// What all sandboxes use together, and why no other is admitted.
struct HostFigures {
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;  // 0: none, or not known yet
  std::uint64_t socket_bytes = 0;
  std::uint32_t pids = 0;
  std::uint32_t pids_limit = 0;
  double stalled_percent = 0;
  std::string full_reason;  // empty: others are admitted
};

class HostPressure {
 public:
  using Source = std::function<HostSample()>;
  // Without a source only what the launcher says counts.
  explicit HostPressure(Source source) : source_(std::move(source)) {}

  void sample();
  void set_launcher_measurement(const wire::HostMeasured& measured);
  void launcher_lost() { launcher_ = {}; }

  // Empty: the host is not full.
  std::string full_reason() const;
  std::uint32_t pids_limit() const { return launcher_.pids_limit; }
  HostFigures figures() const;

 private:
  Source source_;
  HostSample sample_;
  wire::HostMeasured launcher_;
};

}  // namespace glovebox::node
