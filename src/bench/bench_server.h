// A server with its own data directory, for the lifetime of this object.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

class BenchServer {
 public:
  // `settings` are "key=value", `env` are "NAME=value". It has its own layers, which are removed
  // with it. Returns when it is ready.
  static Result<BenchServer> start(const std::vector<std::string>& settings = {},
                                   const std::vector<std::string>& env = {});
  BenchServer(BenchServer&& other) noexcept;
  BenchServer& operator=(BenchServer&&) = delete;
  ~BenchServer();

  const client::ServerLocation& location() const { return location_; }
  // The current process of its egress gateway; 0: there is none.
  pid_t gateway_pid() const { return pid_of("gateway_pid"); }
  pid_t launcher_pid() const { return pid_of("launcher_pid"); }
  pid_t server_pid() const { return pid_of("pid"); }
  pid_t supervisor_pid() const { return pid_; }

 private:
  BenchServer(pid_t pid, std::string directory);
  Result<> wait_until_ready();
  pid_t pid_of(const char* process) const;

  pid_t pid_ = 0;  // of `glovebox serve`
  std::string directory_;
  client::ServerLocation location_;
};

}  // namespace glovebox::bench
