// A small file of the host that other programs change: checked every few seconds and read again
// when it has changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace glovebox::gateway {

class ReloadingFile {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kCheckInterval{3};

  // Only the first `max_bytes` are read.
  ReloadingFile(std::string path, std::size_t max_bytes)
      : path_(std::move(path)), max_bytes_(max_bytes) {}

  // Its text, the first time and whenever it has changed; empty if there is no such file. Nothing:
  // it has not changed since the last call, or was checked just before.
  std::optional<std::string> read_if_changed(Time now);

 private:
  struct Stamp {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    bool operator==(const Stamp&) const = default;
  };

  std::string path_;
  std::size_t max_bytes_;
  std::optional<Time> checked_at_;
  std::optional<Stamp> stamp_;
};

}  // namespace glovebox::gateway
