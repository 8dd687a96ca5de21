// A server of our own on a directory of its own, for as long as this object lives.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "client/place.h"

namespace glovebox::bench {

class OwnServer {
 public:
  // With these settings ("key=value"). Returns once it is ready to run something.
  static Result<OwnServer> start(const std::vector<std::string>& settings = {});
  OwnServer(OwnServer&& other) noexcept;
  OwnServer& operator=(OwnServer&&) = delete;
  ~OwnServer();

  const client::Place& place() const { return place_; }
  // Of its egress gateway, at this moment; 0: there is none.
  pid_t gateway_pid() const;

 private:
  OwnServer(pid_t pid, std::string directory);
  Result<> wait_until_ready();

  pid_t pid_ = 0;  // of `glovebox serve`
  std::string directory_;
  client::Place place_;
};

}  // namespace glovebox::bench
