// What all connections of one server share. Private to src/http: server.cc and connection.cc.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "http/server/connection_owners.h"
#include "http/server/fair_share.h"
#include "http/server/server.h"
#include "http/tls.h"

namespace glovebox::http {

class Connection;

struct Server::State : std::enable_shared_from_this<Server::State> {
  State(asio::io_context& io, Router table, ServerOptions given);

  asio::io_context& context;
  Router router;
  ServerOptions options;
  ServerFigures figures;
  FairShare requests;    // in progress
  FairShare body_bytes;  // of requests in progress
  bool is_stopping = false;

  // Every connection is in one of the two. Idle ones are in the order in which they became idle, so
  // the front is the first to time out.
  std::list<Connection*> busy;
  std::list<Connection*> idle;
  ConnectionOwners owners;

  // Where bytes land before they are parsed. One for all: it is filled and emptied without a wait
  // in between, so an idle connection needs none.
  std::vector<char> scratch;

  struct ListeningSocket {  // a listening socket
    asio::posix::stream_descriptor socket;
    std::shared_ptr<const TlsContext> tls;
    asio::steady_timer pause;
  };
  std::vector<std::shared_ptr<ListeningSocket>> listening;
  asio::steady_timer sweep_timer;
  asio::steady_timer drain_timer;

  void schedule_sweep();
  void sweep();
  void close_listening_sockets();
  void cut_all();
  std::size_t connections() const { return busy.size() + idle.size(); }
  // Called by a connection when it has left both lists.
  void connection_left();
};

}  // namespace glovebox::http
