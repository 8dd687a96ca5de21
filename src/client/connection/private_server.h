// A server for one process: a child `glovebox serve --private`. It ends when the pipe to its
// standard input closes, which happens even if this process is killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "client/connection/server_location.h"

namespace glovebox::client {

// The absolute path of `glovebox`: beside this program, or in ../../bin if it is in libexec.
Result<std::string> glovebox_path();

class PrivateServer {
 public:
  // Whether its log goes to standard error. Errors of requests are in the responses in any case.
  enum class Log : std::uint8_t { kShown, kHidden };
  // Waits until it is ready. `settings` are "name=value". An error has the last line of its log.
  static Result<std::unique_ptr<PrivateServer>> start(const std::vector<std::string>& settings,
                                                      Log log = Log::kShown);
  // Ends it and waits for its end.
  ~PrivateServer();
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  const ServerLocation& location() const { return location_; }
  bool has_ended();
  // The last line of its log, to explain an unexpected end.
  std::string last_error();

 private:
  PrivateServer() = default;
  Result<> spawn(const std::string& front, const std::vector<std::string>& settings);
  Result<> read_location();
  void forward_errors();

  pid_t pid_ = 0;    // 0: the process was reaped
  UniqueFd input_;   // closing it ends the server
  UniqueFd output_;  // it prints its address here
  UniqueFd errors_;
  Log log_ = Log::kShown;
  std::thread forwarder_;
  std::mutex mutex_;
  std::string last_error_;
  ServerLocation location_;
};

// Starts one if no server was named and none runs on the default data directory, and makes `server`
// its location: what it has is then what runs with private servers have. None if there is another
// server.
Result<std::unique_ptr<PrivateServer>> start_server_if_none(ServerLocationOptions& server);

}  // namespace glovebox::client
