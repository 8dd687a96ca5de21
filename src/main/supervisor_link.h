// The server's connection to its supervisor, which sends launchers and egress gateways, examines
// the host when asked, and waits for the ready message. If the supervisor dies, another one may
// connect through <data-dir>/server.sock; the server keeps running meanwhile.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/task.h"
#include "base/unique_fd.h"

namespace glovebox::server {

class SupervisorLink {
 public:
  // A process that the supervisor runs for the server: `arrives` gets its connected socket,
  // `is_there` returns whether one is connected. Both are called on `io`'s thread, and `io`
  // outlives this.
  struct Part {
    std::function<void(UniqueFd)> arrives;
    std::function<bool()> is_there;
  };
  SupervisorLink(boost::asio::io_context& io, std::string url, Part launcher, Part gateway);
  ~SupervisorLink();

  // `channel`: the first supervisor, if any; `listening`: the socket for later ones.
  void start(UniqueFd channel, UniqueFd listening);
  // Sends "R" to the current supervisor and to every later one.
  void say_ready();
  // What `glovebox doctor --json` says of this host: the same for all who ask, from the first time
  // on. kUnavailable: there is no supervisor, or it does not answer.
  Task<std::string> doctor_report();
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::server
