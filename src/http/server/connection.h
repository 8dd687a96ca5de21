// One connection: reads requests in order, runs their handlers, writes the answers. One coroutine,
// which keeps the object alive; it has no timer of its own, the server's sweep checks its deadline
// periodically. Private to src/http.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "http/server/disconnect_watch.h"
#include "http/server/early_refusals.h"
#include "http/server/request_reader.h"
#include "http/server/response_head.h"
#include "http/server/server_state.h"
#include "http/socket_address.h"
#include "http/transport.h"

namespace glovebox::http {

class StreamedBody;

class Connection final : public DisconnectSource, public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;

  Connection(std::shared_ptr<Server::State> server, UniqueFd fd, const SocketAddress& remote,
             std::shared_ptr<const TlsContext> tls);
  ~Connection() override;

  // The whole life; the coroutine keeps `self` alive.
  static asio::awaitable<void> run(std::shared_ptr<Connection> self);

  // By the sweep and by the server.
  void check_deadline(Clock::time_point now);
  Clock::time_point deadline() const { return deadline_; }
  void expire();        // ends the current wait as if its deadline had passed
  void cut();           // closes at once
  void server_stops();  // ends the reading of an upgraded stream

  // DisconnectSource, for the request whose handler runs.
  void watch(std::function<void()> callback) override {
    disconnect_.add(std::move(callback), shared_from_this());
  }
  bool gone() const override { return disconnect_.is_gone(); }

 private:
  friend class StreamedAnswer;
  friend class StreamedBody;
  friend class UpgradedStream;

  enum class Next : std::uint8_t {
    kKeep,
    kClose,
    kLinger,  // the client may still be sending: read on for a while, so that the answer arrives
  };

  // The state of one request and its answer.
  struct Exchanged {
    Request request;
    std::string raw_path;
    Router::Match match;
    StreamedBody* body = nullptr;  // that the handler reads
    Cors cors = Cors::kConfigured;
    Clock::time_point started;
    bool keep_alive = false;
    bool may_share = false;  // with the Origin, if there is one
    bool is_http_1_0 = false;
    int status = 0;
    std::uint64_t answer_bytes = 0;
    RequestOwner owner{};
    std::optional<FairShare::Part> in_progress{};  // from its admission to its answer
  };

  asio::awaitable<bool> tls_handshake();
  asio::awaitable<bool> wait_for_request();
  asio::awaitable<Next> serve_one();
  asio::awaitable<Next> serve_streamed(Exchanged& exchanged, const RequestReader& reader);
  asio::awaitable<ReadResult> read_head(RequestReader& reader);
  asio::awaitable<ReadResult> read_body(RequestReader& reader, std::size_t limit,
                                        FairShare::Part& held);
  std::optional<Response> refuse_early(Exchanged& exchanged, const RequestReader& reader);
  std::optional<Response> charge(Exchanged& exchanged);
  asio::awaitable<Next> refuse_unread(Exchanged& exchanged, ReadResult why);
  asio::awaitable<Next> handle(Exchanged& exchanged);
  asio::awaitable<Next> upgrade(Exchanged& exchanged);
  asio::awaitable<void> linger();

  asio::awaitable<bool> send_response(Exchanged& exchanged, Response response);
  asio::awaitable<bool> send_parts(std::string_view first, std::string_view second = {},
                                   std::string_view third = {});
  AfterAnswer after_answer(const Exchanged& exchanged) const;
  void finish_exchange(Exchanged& exchanged);

  // Lets other connections have their turn, if this one has read many bytes without a wait.
  asio::awaitable<void> give_way();
  // Into server_->scratch; valid until the next wait.
  asio::awaitable<Io> receive(std::size_t& got);
  void set_deadline(std::chrono::milliseconds time, std::size_t bytes = 0);
  void clear_deadline() { deadline_ = Clock::time_point::max(); }

  void become_idle();
  void become_busy();
  void leave();

  std::shared_ptr<Server::State> server_;
  Transport transport_;
  SocketAddress remote_;
  ConnectionOwners::Membership membership_;
  DisconnectWatch disconnect_;  // of the running handler's client
  std::string pending_;         // received, not parsed yet: a part of a header, or the next request
  Clock::time_point deadline_ = Clock::time_point::max();
  // Of a handler that waits for its body: apart, because it may write its answer meanwhile.
  Clock::time_point body_deadline_ = Clock::time_point::max();
  std::list<Connection*>::iterator list_position_;
  std::size_t bytes_in_a_row_ = 0;  // read without a wait
  bool is_idle_ = false;
  bool has_left_ = false;
  bool is_expired_ = false;
  bool is_body_late_ = false;
  bool is_upgraded_ = false;
};

}  // namespace glovebox::http
