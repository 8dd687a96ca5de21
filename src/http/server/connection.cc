#include "http/server/connection.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/id.h"
#include "base/log.h"
#include "http/origin_rules.h"
#include "http/server/early_refusals.h"
#include "http/server/handler_call.h"
#include "http/server/request_body.h"
#include "http/server/streamed_answer.h"
#include "http/server/upgraded_stream.h"
#include "http/status.h"

namespace glovebox::http {

namespace {

// A refused request with a body this small is read to its end and the connection kept.
constexpr std::size_t kSmallBody = 64 << 10;
// After so many bytes that were there without a wait, other connections get their turn.
constexpr std::size_t kBytesInARow = 256 << 10;
// How much of a refused body is read and dropped at most.
constexpr std::size_t kLingerBytes = std::size_t{64} << 20;

}  // namespace

Connection::Connection(std::shared_ptr<Server::State> server, UniqueFd fd,
                       const SocketAddress& remote, std::shared_ptr<const TlsContext> tls)
    : server_(std::move(server)),
      transport_(server_->context, std::move(fd), std::move(tls)),
      remote_(remote),
      membership_(server_->owners, remote_.network(), [this] { cut(); }),
      disconnect_(transport_) {
  list_position_ = server_->busy.insert(server_->busy.end(), this);
  ++server_->figures.connections_total;
}

Connection::~Connection() { leave(); }

void Connection::leave() {
  if (has_left_) return;
  has_left_ = true;
  membership_.leave();
  (is_idle_ ? server_->idle : server_->busy).erase(list_position_);
  server_->connection_left();
}

asio::awaitable<void> Connection::run(std::shared_ptr<Connection> self) {
  bool goes_on = true;
  if (self->transport_.is_tls()) goes_on = co_await self->tls_handshake();
  while (goes_on) {
    goes_on = co_await self->wait_for_request();
    if (!goes_on) break;
    const Next next = co_await self->serve_one();
    if (next == Next::kLinger) co_await self->linger();
    goes_on = next == Next::kKeep;
  }
  self->transport_.close();
  self->leave();
}

asio::awaitable<bool> Connection::tls_handshake() {
  set_deadline(server_->options.limits.header_time);
  membership_.set_waiting(true);
  Io io = transport_.handshake();
  while (io == Io::kWantRead || io == Io::kWantWrite) {
    const bool may_go_on = co_await transport_.wait(io);
    if (!may_go_on || is_expired_) co_return false;
    io = transport_.handshake();
  }
  clear_deadline();
  co_return io == Io::kDone;
}

asio::awaitable<bool> Connection::wait_for_request() {
  if (!pending_.empty() || transport_.has_pending()) co_return true;
  if (server_->is_stopping) co_return false;
  pending_ = {};  // gives its memory back
  become_idle();
  const bool is_ready = co_await transport_.wait(Io::kWantRead);
  become_busy();
  co_return is_ready && !is_expired_;
}

// The life of a request, in order.
asio::awaitable<Connection::Next> Connection::serve_one() {
  RequestReader reader(server_->options.limits.max_header_bytes);
  Exchanged exchanged;
  exchanged.request.id = "rq" + random_label(20);
  exchanged.request.tls = transport_.is_tls();
  exchanged.owner.name = remote_.network();
  membership_.set_waiting(true);
  const ReadResult head = co_await read_head(reader);
  membership_.set_waiting(false);
  exchanged.started = Clock::now();
  if (head == ReadResult::kEnded) co_return Next::kClose;
  if (head != ReadResult::kDone) co_return co_await refuse_unread(exchanged, head);

  std::optional<Response> refusal = refuse_early(exchanged, reader);
  const bool has_body = reader.has_body();
  const std::string_view expects = exchanged.request.header("Expect");
  const bool is_worth_reading =
      !has_body || (expects.empty() && reader.content_length().value_or(SIZE_MAX) <= kSmallBody);
  if (refusal && (!exchanged.keep_alive || !is_worth_reading)) {
    exchanged.keep_alive = false;
    co_await send_response(exchanged, std::move(*refusal));
    finish_exchange(exchanged);
    co_return Next::kLinger;
  }
  const Route* route = refusal ? nullptr : exchanged.match.route;
  const bool is_upgrade = route != nullptr && route->upgrade && !has_body &&
                          !exchanged.request.header("Upgrade").empty();
  if (route != nullptr && route->streams_body && !is_upgrade) {
    co_return co_await serve_streamed(exchanged, reader);
  }
  FairShare::Part held(server_->body_bytes, exchanged.owner);
  if (has_body) {
    if (!expects.empty() && pending_.empty()) {
      const bool sent = co_await send_parts("HTTP/1.1 100 Continue\r\n\r\n");
      if (!sent) co_return Next::kClose;
    }
    const std::size_t limit = route != nullptr ? route->max_body : kSmallBody;
    membership_.set_waiting(true);
    const ReadResult body = co_await read_body(reader, limit, held);
    membership_.set_waiting(false);
    if (body == ReadResult::kEnded) co_return Next::kClose;
    if (body != ReadResult::kDone) co_return co_await refuse_unread(exchanged, body);
    exchanged.request.body = reader.take_body();
  }
  Next next = Next::kClose;
  if (refusal) {
    const bool sent = co_await send_response(exchanged, std::move(*refusal));
    if (sent && exchanged.keep_alive) next = Next::kKeep;
  } else if (is_upgrade) {
    next = co_await upgrade(exchanged);
  } else {
    next = co_await handle(exchanged);
  }
  finish_exchange(exchanged);
  // Pipelined bytes that are never read would turn our FIN into a reset.
  if (next == Next::kClose && !pending_.empty() && transport_.is_open()) next = Next::kLinger;
  co_return next;
}

// The handler reads the body itself. What it leaves cannot be distinguished from the next request.
asio::awaitable<Connection::Next> Connection::serve_streamed(Exchanged& exchanged,
                                                             const RequestReader& reader) {
  const bool expects = !exchanged.request.header("Expect").empty();
  StreamedBody body(*this, reader,
                    expects ? StreamedBody::Expects::kContinue : StreamedBody::Expects::kNothing);
  exchanged.request.body_stream = exchanged.body = &body;
  Next next = co_await handle(exchanged);
  finish_exchange(exchanged);
  if (!body.is_done() || !pending_.empty()) {
    if (next == Next::kClose && transport_.is_open()) next = Next::kLinger;
  }
  exchanged.request.body_stream = exchanged.body = nullptr;
  co_return next;
}

asio::awaitable<ReadResult> Connection::read_head(RequestReader& reader) {
  set_deadline(server_->options.limits.header_time);
  ReadResult outcome = ReadResult::kDone;
  for (;;) {
    // Empty lines before a request are allowed for old clients' sake.
    if (!reader.has_started()) {
      pending_.erase(0, std::min(pending_.find_first_not_of("\r\n"), pending_.size()));
    }
    if (!pending_.empty()) {
      std::size_t used = 0;
      const RequestReader::Step step = reader.read_head(pending_, used);
      pending_.erase(0, used);
      if (step == RequestReader::Step::kDone) break;
      if (step == RequestReader::Step::kMalformed) outcome = ReadResult::kMalformed;
      if (step == RequestReader::Step::kHeaderTooLarge) outcome = ReadResult::kHeaderTooLarge;
      if (outcome != ReadResult::kDone) break;
    }
    std::size_t got = 0;
    const Io io = co_await receive(got);
    const bool can_answer = !server_->is_stopping && transport_.is_open();
    if (is_expired_) outcome = can_answer ? ReadResult::kTimeout : ReadResult::kEnded;
    if (io != Io::kDone && !is_expired_) outcome = ReadResult::kEnded;
    if (outcome != ReadResult::kDone) break;
    pending_.append(server_->scratch.data(), got);
  }
  clear_deadline();
  co_return outcome;
}

asio::awaitable<ReadResult> Connection::read_body(RequestReader& reader, std::size_t limit,
                                                  FairShare::Part& held) {
  const ServerLimits& limits = server_->options.limits;
  if (reader.content_length().value_or(0) > limit) co_return ReadResult::kBodyTooLarge;
  reader.limit_body(limit);
  const Clock::time_point began = Clock::now();
  std::string_view bytes = pending_;
  bool from_scratch = false;
  for (;;) {
    std::size_t used = 0;
    const RequestReader::Step step = reader.read_body(bytes, used);
    bytes.remove_prefix(used);
    // What was not taken waits for more, or is the next request.
    if (from_scratch) {
      pending_.assign(bytes);
    } else {
      pending_.erase(0, used);
    }
    held.set(reader.body_size());
    if (step == RequestReader::Step::kDone) break;
    if (step == RequestReader::Step::kBodyTooLarge) co_return ReadResult::kBodyTooLarge;
    if (step != RequestReader::Step::kNeedMore) co_return ReadResult::kMalformed;
    if (!held.may_grow()) co_return ReadResult::kNoRoom;
    deadline_ = std::min(
        Clock::now() + limits.body_stall_time,
        began + limits.body_time +
            std::chrono::milliseconds(reader.body_size() * 1000 / limits.min_bytes_per_second));
    std::size_t got = 0;
    const Io io = co_await receive(got);
    clear_deadline();
    if (is_expired_) co_return transport_.is_open() ? ReadResult::kTimeout : ReadResult::kEnded;
    if (io != Io::kDone) co_return ReadResult::kEnded;
    from_scratch = pending_.empty();
    if (!from_scratch) pending_.append(server_->scratch.data(), got);
    bytes = from_scratch ? std::string_view(server_->scratch.data(), got) : pending_;
  }
  co_return ReadResult::kDone;
}

// Everything that can be known before the body is read. nullopt: the route may have it.
std::optional<Response> Connection::refuse_early(Exchanged& exchanged,
                                                 const RequestReader& reader) {
  Request& request = exchanged.request;
  std::string reason;
  request.remote_host = remote_.host();
  request.remote = remote_.str();
  request.source = this;
  if (listens_everywhere(server_->options.origins)) request.local = transport_.local_address();
  const bool is_good = reader.fill_head(request, exchanged.raw_path, reason);
  exchanged.is_http_1_0 = reader.is_http_1_0();
  exchanged.keep_alive = is_good && reader.keep_alive();
  if (!is_good) return Response::refuse(400, "malformed_request", reason);

  const bool is_preflight_request = is_preflight(request);
  const Method wanted = is_preflight_request
                            ? parse_method(request.header("Access-Control-Request-Method"))
                            : request.method;
  const Route* first = nullptr;
  if (server_->options.route_first &&
      host_allowed(server_->options.origins, request.host, request.local)) {
    first = server_->options.route_first(request);
  }
  if (first != nullptr) {
    exchanged.match.route = first;
    exchanged.match.allowed.push_back(wanted);
  } else {
    exchanged.match = server_->router.find(wanted, exchanged.raw_path);
  }
  const Route* route = exchanged.match.route;
  if (route != nullptr) {
    request.route = route->pattern;
    if (first == nullptr) request.path_params = std::move(exchanged.match.params);
    exchanged.cors = route->cors;
  }
  const OriginVerdict verdict = judge(server_->options.origins, request, exchanged.cors);
  if (verdict != OriginVerdict::kAllowed) {
    return refusal(verdict);
  }
  exchanged.may_share = true;
  if (exchanged.match.allowed.empty()) {
    return Response::refuse(404, "route_not_found", "there is nothing at " + request.path);
  }
  if (is_preflight_request && exchanged.cors != Cors::kForwarded) {
    return answer_preflight(request, exchanged.match.allowed, exchanged.cors);
  }
  if (route == nullptr) return refuse_method(exchanged.match.allowed);
  if (auto refused = refuse_expectation(request)) return refused;
  if (auto refused = refuse_admission(*route, server_->options.admit, request)) return refused;
  if (!route->streams_body && reader.content_length().value_or(0) > route->max_body) {
    return refuse_large_body(route->max_body);
  }
  return charge(exchanged);
}

// Counts the request, if its owner may have another one.
std::optional<Response> Connection::charge(Exchanged& exchanged) {
  if (server_->options.owner_of) {
    RequestOwner owner = server_->options.owner_of(exchanged.request);
    if (owner.kind != RequestOwner::Kind::kAnonymous) exchanged.owner = std::move(owner);
  }
  const RequestOwner& owner = exchanged.owner;
  exchanged.request.owner = owner.name;
  if (owner.kind == RequestOwner::Kind::kProject) membership_.set_project(owner.name);
  if (!exchanged.match.route->is_always_served) {
    if (!server_->requests.has_room(owner)) return refuse_request_for_now();
    exchanged.in_progress.emplace(server_->requests, owner, 1);
  }
  ++server_->figures.requests_total;
  return std::nullopt;
}

// The request could not be read to its end, so the connection cannot be kept.
asio::awaitable<Connection::Next> Connection::refuse_unread(Exchanged& exchanged, ReadResult why) {
  exchanged.keep_alive = false;
  is_expired_ = false;  // time for one last answer
  const Route* route = exchanged.match.route;
  Response response = http::refuse_unread(why, route != nullptr ? route->max_body : kSmallBody);
  co_await send_response(exchanged, std::move(response));
  finish_exchange(exchanged);
  co_return Next::kLinger;
}

asio::awaitable<Connection::Next> Connection::handle(Exchanged& exchanged) {
  StreamedAnswer writer(*this, exchanged);
  disconnect_.begin();
  const Route& route = *exchanged.match.route;
  Result<Response> result = co_await call_handler(route.handler, exchanged.request, writer);
  disconnect_.end();
  if (!result && result.error().code() == Errc::kInternal) {
    log::warn("request failed",
              {{"request", exchanged.request.id}, {"error", result.error().message()}});
  }
  if (writer.begun()) {
    // An error behind a begun answer can only be shown by not ending it.
    if (!result) co_return Next::kClose;
    const bool sent = co_await writer.finish();
    co_return sent&& exchanged.keep_alive ? Next::kKeep : Next::kClose;
  }
  Response response = result ? std::move(*result) : Response::from_error(result.error());
  if (response.is_streamed) {
    response = Response::refuse(500, "internal", "the handler sent no response");
  }
  if (response.problem && route.error_form) {
    response = route.error_form(response, result ? nullptr : &result.error());
  } else if (!result && exchanged.body != nullptr && exchanged.body->has_timed_out()) {
    response = Response::refuse(408, "request_timeout", result.error().message());
  }
  const bool sent = co_await send_response(exchanged, std::move(response));
  co_return sent&& exchanged.keep_alive ? Next::kKeep : Next::kClose;
}

asio::awaitable<Connection::Next> Connection::upgrade(Exchanged& exchanged) {
  UpgradedStream stream(*this, exchanged);
  exchanged.status = 101;
  co_await exchanged.match.route->upgrade(exchanged.request, stream);
  // Bytes under way would turn the end of our answer into a reset.
  co_return transport_.is_open() && !is_expired_ ? Next::kLinger : Next::kClose;
}

asio::awaitable<void> Connection::linger() {
  transport_.end_writing();
  is_expired_ = false;
  membership_.set_waiting(true);
  set_deadline(server_->options.limits.linger_time);
  std::size_t total = 0;
  while (total < kLingerBytes) {
    std::size_t got = 0;
    const Io io = co_await receive(got);
    if (io != Io::kDone || is_expired_) break;
    total += got;
  }
}

asio::awaitable<void> Connection::give_way() {
  if (bytes_in_a_row_ < kBytesInARow) co_return;
  bytes_in_a_row_ = 0;
  co_await asio::post(server_->context, asio::use_awaitable);
}

asio::awaitable<Io> Connection::receive(std::size_t& got) {
  co_await give_way();
  for (;;) {
    if (!transport_.is_open() || is_expired_) co_return Io::kFailed;
    const Io io = transport_.read(server_->scratch.data(), server_->scratch.size(), got);
    if (io == Io::kDone) bytes_in_a_row_ += got;
    if (io != Io::kWantRead && io != Io::kWantWrite) co_return io;
    bytes_in_a_row_ = 0;
    const bool may_go_on = co_await transport_.wait(io);
    if (!may_go_on || is_expired_) co_return Io::kFailed;
  }
}

asio::awaitable<bool> Connection::send_parts(std::string_view first, std::string_view second,
                                             std::string_view third) {
  std::string_view parts[] = {first, second, third};
  if (!transport_.is_open() || is_expired_) co_return false;
  Io io = transport_.write(parts);
  if (io == Io::kDone) co_return true;  // nearly always: the kernel's buffer takes it all
  set_deadline(server_->options.limits.write_time, first.size() + second.size() + third.size());
  while (io == Io::kWantWrite || io == Io::kWantRead) {
    const bool may_go_on = co_await transport_.wait(io);
    if (!may_go_on || is_expired_) {
      io = Io::kFailed;
      break;
    }
    io = transport_.write(parts);
  }
  clear_deadline();
  co_return io == Io::kDone;
}

AfterAnswer Connection::after_answer(const Exchanged& exchanged) const {
  const bool keep = exchanged.keep_alive && !server_->is_stopping && !disconnect_.is_gone();
  if (!keep) return AfterAnswer::kClose;
  return exchanged.is_http_1_0 ? AfterAnswer::kKeepAliveOld : AfterAnswer::kKeepAlive;
}

asio::awaitable<bool> Connection::send_response(Exchanged& exchanged, Response response) {
  FairShare::Part held(server_->body_bytes, exchanged.owner);
  hold_answer(response, held);
  if (response.problem) {
    response.body =
        error_body(response.problem->code, response.problem->message, exchanged.request.id);
    response.headers.set("Content-Type", "application/json");
  }
  if (exchanged.may_share) {
    add_cors_headers(exchanged.request, exchanged.cors, response.headers);
  }
  const bool has_body = exchanged.request.method != Method::kHead && may_have_body(response.status);
  Framing framing;
  framing.content_length = response.body.size();
  framing.is_forwarded = exchanged.cors == Cors::kForwarded;
  // HEAD: the length that GET would have.
  if (exchanged.request.method == Method::kHead && response.body.empty()) {
    framing.content_length = content_length_of(response.headers).value_or(0);
  }
  if (exchanged.body != nullptr && !exchanged.body->is_done()) exchanged.keep_alive = false;
  framing.after = after_answer(exchanged);
  // The header decides, even if the server begins to stop meanwhile.
  exchanged.keep_alive = framing.after != AfterAnswer::kClose;
  exchanged.status = response.status;
  exchanged.answer_bytes = has_body ? response.body.size() : 0;
  const std::string head =
      response_head(response.status, response.headers, exchanged.request.id, framing);
  const std::string_view body = has_body ? std::string_view(response.body) : std::string_view();
  co_return co_await send_parts(head, body);
}

void Connection::finish_exchange(Exchanged& exchanged) {
  exchanged.in_progress.reset();
  if (!server_->options.on_exchange) return;
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - exchanged.started);
  const Exchange exchange{.request = exchanged.request,
                          .status = exchanged.status,
                          .answer_bytes = exchanged.answer_bytes,
                          .took = took,
                          .client_gone = disconnect_.is_gone()};
  server_->options.on_exchange(exchange);
}

// ---- deadlines, and the lists of the server ----

void Connection::set_deadline(std::chrono::milliseconds time, std::size_t bytes) {
  const std::size_t rate = server_->options.limits.min_bytes_per_second;
  deadline_ = Clock::now() + time + std::chrono::milliseconds(bytes * 1000 / rate);
}

void Connection::check_deadline(Clock::time_point now) {
  disconnect_.sweep(shared_from_this());
  if (now >= body_deadline_) {
    body_deadline_ = Clock::time_point::max();
    is_body_late_ = true;
    transport_.cancel();
  }
  if (now >= deadline_) expire();
}

void Connection::expire() {
  if (is_expired_) return;
  is_expired_ = true;
  transport_.cancel();
}

void Connection::cut() {
  is_expired_ = true;
  transport_.close();
  disconnect_.set_gone();
}

void Connection::server_stops() {
  if (is_upgraded_) transport_.cancel();
}

void Connection::become_idle() {
  set_deadline(server_->options.limits.idle_time);
  server_->idle.splice(server_->idle.end(), server_->busy, list_position_);
  is_idle_ = true;
  membership_.set_waiting(true);
}

void Connection::become_busy() {
  clear_deadline();
  server_->busy.splice(server_->busy.end(), server_->idle, list_position_);
  is_idle_ = false;
}

}  // namespace glovebox::http
