// The server's side of its supervisor: launchers and egress gateways come from there, and it is
// told that we are ready. The supervisor may die and another one take its place through
// <data-dir>/server.sock; the server goes on meanwhile.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"

namespace glovebox::server {

class SupervisorLink {
 public:
  // A part of ours that the supervisor runs: `arrives` gets its connected socket, `is_there` says
  // whether there is one. Both are called on `io`'s thread, which outlives this.
  struct Part {
    std::function<void(UniqueFd)> arrives;
    std::function<bool()> is_there;
  };
  SupervisorLink(boost::asio::io_context& io, std::string url, Part launcher, Part gateway);
  ~SupervisorLink();

  // A channel that is there from the start, if any, and the socket where others come.
  void start(UniqueFd channel, UniqueFd listening);
  // "R": from now on, and to every supervisor that comes.
  void say_ready();
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::server
