// A server for one process: `glovebox serve --private`, which ends when the pipe to its standard
// input is closed, also when we are killed.
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

// `glovebox` beside us, or in ../../bin when we are in libexec; absolute.
Result<std::string> front_path();

class PrivateServer {
 public:
  // Which of its words go to our standard error: all, or none, because what concerns the one who
  // started it is in its answers.
  enum class Log : std::uint8_t { kShown, kKept };
  // Waits until it is ready. `settings` are "name=value". The error is what it said on its standard
  // error.
  static Result<std::unique_ptr<PrivateServer>> start(const std::vector<std::string>& settings,
                                                      Log log = Log::kShown);
  // Ends it, and waits for that.
  ~PrivateServer();
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  const Place& place() const { return place_; }
  bool has_ended();
  // The last line of its standard error, for when it has ended by itself.
  std::string last_error();

 private:
  PrivateServer() = default;
  Result<> spawn(const std::string& front, const std::vector<std::string>& settings);
  Result<> read_place();
  void forward_errors();

  pid_t pid_ = 0;    // zero: it has been waited for
  UniqueFd input_;   // its life
  UniqueFd output_;  // where it says its address
  UniqueFd errors_;
  Log log_ = Log::kShown;
  std::thread forwarder_;
  std::mutex mutex_;
  std::string last_error_;
  Place place_;
};

}  // namespace glovebox::client
