#include "http/server/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <exception>

#include "base/assert.h"
#include "base/log.h"
#include "http/server/connection.h"
#include "http/server/server_state.h"
#include "http/socket_address.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kScratchBytes = 64 << 10;
constexpr int kAcceptsInARow = 64;  // then the connections get their turn
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{100};

// A coroutine that ends with an exception ends the program: only "out of memory" gets here.
void end_program(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

// No room, and no connection that waits. Best effort, without waiting.
void refuse_connection(int fd, bool is_tls) {
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
      "Content-Length: 79\r\nRetry-After: 1\r\nCache-Control: no-store\r\n"
      "Connection: close\r\n\r\n"
      R"({"error":{"code":"too_many_connections","message":"too many connections"}}     )";
  if (is_tls) return;
  char ignored[4096];
  (void)!::recv(fd, ignored, sizeof ignored, MSG_DONTWAIT);  // unread bytes would make it a reset
  (void)!::send(fd, kAnswer.data(), kAnswer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_WR);
}

void admit_connection(const std::shared_ptr<Server::State>& state,
                      const Server::State::ListeningSocket& socket, UniqueFd fd,
                      const SocketAddress& remote) {
  if (state->connections() >= state->options.limits.max_connections) {
    if (!state->owners.make_room()) {
      ++state->figures.connections_refused_total;
      refuse_connection(fd.get(), socket.tls != nullptr);
      return;
    }
  }
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  auto connection = std::make_shared<Connection>(state, std::move(fd), remote, socket.tls);
  asio::co_spawn(state->context, Connection::run(std::move(connection)), end_program);
}

// True: wait for the next event; false: descriptors have run out.
bool accept_some(const std::shared_ptr<Server::State>& state,
                 Server::State::ListeningSocket& socket) {
  for (int i = 0; i < kAcceptsInARow; ++i) {
    SocketAddress remote;
    UniqueFd fd(::accept4(socket.socket.native_handle(), remote.get(), remote.size_slot(),
                          SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      admit_connection(state, socket, std::move(fd), remote);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return false;
    if (errno == EAGAIN) return true;
    // ECONNABORTED and the like are about that one connection.
  }
  return true;
}

asio::awaitable<void> accept_loop(std::shared_ptr<Server::State> state,
                                  std::shared_ptr<Server::State::ListeningSocket> socket) {
  bool was_short = false;
  while (!state->is_stopping) {
    const auto [error] =
        co_await socket->socket.async_wait(asio::posix::stream_descriptor::wait_read, kAwaitTuple);
    if (error || state->is_stopping) break;
    if (accept_some(state, *socket)) {
      was_short = false;
      continue;
    }
    if (!was_short) log::warn("out of descriptors; not accepting for a moment");
    was_short = true;
    state->owners.make_room();
    socket->pause.expires_after(kPauseWithoutDescriptors);
    co_await socket->pause.async_wait(kAwaitTuple);
  }
}

}  // namespace

Server::State::State(asio::io_context& io, Router table, ServerOptions given)
    : context(io),
      router(std::move(table)),
      options(std::move(given)),
      requests(options.limits.max_requests),
      body_bytes(options.limits.max_body_bytes_total),
      scratch(kScratchBytes),
      sweep_timer(io),
      drain_timer(io) {}

void Server::State::schedule_sweep() {
  sweep_timer.expires_after(options.limits.sweep_interval);
  sweep_timer.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const std::shared_ptr<State> state = weak.lock();
    if (error || !state) return;
    state->sweep();
    state->schedule_sweep();
  });
}

void Server::State::sweep() {
  const auto now = std::chrono::steady_clock::now();
  // Expiring moves no connection between the lists: its coroutine does that when it runs. But a
  // callback of a handler may do anything, so the next element is found before.
  for (auto it = busy.begin(); it != busy.end();) (*it++)->check_deadline(now);
  for (Connection* connection : idle) {
    if (connection->deadline() > now) break;
    connection->expire();
  }
}

void Server::State::close_listening_sockets() {
  boost::system::error_code ignored;
  for (const std::shared_ptr<ListeningSocket>& socket : listening) {
    socket->socket.close(ignored);
    socket->pause.cancel();
  }
  listening.clear();
}

void Server::State::cut_all() {
  for (auto it = idle.begin(); it != idle.end();) (*it++)->cut();
  for (auto it = busy.begin(); it != busy.end();) (*it++)->cut();
}

void Server::State::connection_left() {
  if (is_stopping && connections() == 0) drain_timer.cancel();
}

Server::Server(asio::io_context& context, Router router, ServerOptions options)
    : state_(std::make_shared<State>(context, std::move(router), std::move(options))) {
  GBX_ASSERT(state_->options.limits.min_bytes_per_second > 0);
  state_->schedule_sweep();
}

Server::~Server() {
  state_->is_stopping = true;
  state_->close_listening_sockets();
  state_->sweep_timer.cancel();
  state_->cut_all();
}

Result<> Server::serve(UniqueFd listening, std::shared_ptr<const TlsContext> tls) {
  const int flags = ::fcntl(listening.get(), F_GETFL);
  if (flags < 0 || ::fcntl(listening.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail(Error::from_errno("make the listening socket non-blocking"));
  }
  int is_listening = 0;
  socklen_t size = sizeof is_listening;
  ::getsockopt(listening.get(), SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size);
  if (is_listening == 0) return fail(Errc::kInvalidArgument, "the socket does not listen");
  auto socket = std::make_shared<State::ListeningSocket>(
      State::ListeningSocket{.socket = asio::posix::stream_descriptor(state_->context),
                             .tls = std::move(tls),
                             .pause = asio::steady_timer(state_->context)});
  boost::system::error_code error;
  socket->socket.assign(listening.get(), error);
  if (error) return fail(Errc::kInternal, "watch the listening socket: " + error.message());
  (void)listening.release();
  state_->listening.push_back(socket);
  asio::co_spawn(state_->context, accept_loop(state_, socket), end_program);
  return {};
}

void Server::stop_accepting() {
  state_->is_stopping = true;
  state_->close_listening_sockets();
  for (auto it = state_->idle.begin(); it != state_->idle.end();) (*it++)->expire();
  for (Connection* connection : state_->busy) connection->server_stops();
}

asio::awaitable<bool> Server::drained(std::chrono::steady_clock::time_point deadline) {
  const std::shared_ptr<State> state = state_;
  GBX_ASSERT(state->is_stopping);
  if (state->connections() > 0) {
    state->drain_timer.expires_at(deadline);
    co_await state->drain_timer.async_wait(kAwaitTuple);
  }
  const bool is_clean = state->connections() == 0;
  state->cut_all();
  state->sweep_timer.cancel();
  co_return is_clean;
}

ServerFigures Server::figures() const {
  ServerFigures figures = state_->figures;
  figures.connections = state_->connections();
  figures.requests_in_progress = state_->requests.total();
  figures.body_bytes = state_->body_bytes.total();
  figures.idle_connections = state_->idle.size();
  return figures;
}

const Router& Server::router() const { return state_->router; }

}  // namespace glovebox::http
