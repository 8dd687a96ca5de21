// A small file of the host's that others change: looked at every few seconds, read when it is not
// the one it was.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace glovebox::gateway {

class RereadFile {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kLookEvery{3};

  // What lies behind the first `most_bytes` is not read.
  RereadFile(std::string path, std::size_t most_bytes)
      : path_(std::move(path)), most_bytes_(most_bytes) {}

  // Its text, the first time and whenever it has changed; empty where there is no such file.
  // Nothing: it is as it was when it was last given, or it is too soon to look.
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
  std::size_t most_bytes_;
  std::optional<Time> looked_;
  std::optional<Stamp> stamp_;
};

}  // namespace glovebox::gateway
