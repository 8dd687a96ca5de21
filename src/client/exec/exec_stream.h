// One program in a sandbox, live: this process's streams (or its terminal) on one side, the
// server's WebSocket on the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/connection/server_location.h"

namespace glovebox::client {

struct StreamWish {
  std::string sandbox;
  std::string first;      // the first message: start or attach, as JSON
  bool terminal = false;  // ours is made raw and its size is told
  bool input = false;     // our standard input goes there
};

struct StreamEnd {
  int exit_code = 0;
  bool detached = false;  // by the keys; it goes on
  std::uint64_t process = 0;
};

// Until the program ends or the keys to detach are typed (Ctrl-P Ctrl-Q, at a terminal). Without a
// terminal, Ctrl-C is passed on; typed twice, we go and it stays.
Result<StreamEnd> run_stream(const Place& place, const StreamWish& wish);

}  // namespace glovebox::client
