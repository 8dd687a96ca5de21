// The HTTP/1.1 server: takes listening sockets, answers through a Router. Everything a client can
// make us hold is bounded by ServerLimits. One io_context, one thread, no locks.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "http/message.h"
#include "http/origin_rules.h"
#include "http/router.h"
#include "http/server/fair_share.h"
#include "http/server/listener.h"
#include "http/tls.h"

namespace glovebox::http {

namespace asio = boost::asio;

struct ServerLimits {
  std::size_t max_header_bytes = 16 << 10;
  std::chrono::milliseconds header_time{10'000};  // from the first byte to the end of the header
  // A body, and an answer, may take this long plus what min_bytes_per_second allows for its size.
  std::chrono::milliseconds body_time{30'000};
  std::chrono::milliseconds body_stall_time{20'000};  // between two bytes of a body
  std::chrono::milliseconds write_time{30'000};
  std::size_t min_bytes_per_second = 16 << 10;
  std::chrono::milliseconds idle_time{75'000};
  std::chrono::milliseconds linger_time{2'000};  // reading on after a refusal, so that it arrives
  std::size_t max_connections = 12'000;
  // Of all requests in progress together; FairShare says what one owner may have.
  std::size_t max_requests = 4'096;
  std::size_t max_body_bytes_total = std::size_t{1} << 30;
  // How often deadlines are looked at; their precision.
  std::chrono::milliseconds sweep_interval{1'000};
};

struct ServerFigures {
  std::size_t connections = 0;
  std::size_t idle_connections = 0;
  std::size_t requests_in_progress = 0;
  std::size_t body_bytes = 0;
  std::uint64_t requests_total = 0;
  std::uint64_t connections_total = 0;
  std::uint64_t connections_refused_total = 0;
};

// What happened, for the access log and the figures; called when the answer has been written.
struct Exchange {
  const Request& request;
  int status;
  std::uint64_t answer_bytes;      // of the body
  std::chrono::microseconds took;  // from the complete header to the end of the answer
  bool client_gone;
};

struct ServerOptions {
  ServerLimits limits;
  OriginRules origins;
  // For routes that have no admission of their own.
  Admission admit;
  // Sees a request of an allowed Host before its path is looked at. A route: this one answers,
  // whatever the path (it must live as long as the server); null: the router decides.
  std::function<const Route*(Request&)> route_first;
  // Whom an admitted request is charged to; an anonymous client's network is filled in. A
  // connection is the project's whose key or token it showed last: see ConnectionOwners.
  std::function<RequestOwner(const Request&)> owner_of;
  std::function<void(const Exchange&)> on_exchange;
};

class Server {
 public:
  Server(asio::io_context& context, Router router, ServerOptions options);
  ~Server();  // stops accepting and cuts every connection
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Starts accepting on a socket that already listens. With `tls`, every connection speaks it.
  Result<> serve(UniqueFd listening, std::shared_ptr<const TlsContext> tls = nullptr);

  // Closes the listeners and the idle connections; requests under way finish and say
  // "Connection: close".
  void stop_accepting();
  // After stop_accepting: true when the last connection has ended, false when `deadline` came
  // first; then the rest have been cut.
  asio::awaitable<bool> drained(std::chrono::steady_clock::time_point deadline);

  ServerFigures figures() const;
  const Router& router() const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::http
