// A glovebox-launcher that listens on a socket of its own for as long as this object lives.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox::bench::cold {

class RunningLauncher {
 public:
  // Returns once it accepts connections.
  static Result<RunningLauncher> start(const std::string& bin_dir);
  RunningLauncher(RunningLauncher&& other) noexcept;
  RunningLauncher& operator=(RunningLauncher&&) = delete;
  ~RunningLauncher();

  const std::string& socket() const { return socket_; }
  pid_t pid() const { return pid_; }
  // VmRSS of the launcher alone.
  Result<std::uint64_t> resident_kib() const;

 private:
  RunningLauncher(pid_t pid, std::string directory, std::string socket);
  pid_t pid_ = 0;
  std::string directory_;
  std::string socket_;
};

}  // namespace glovebox::bench::cold
