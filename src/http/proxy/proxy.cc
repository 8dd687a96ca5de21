#include "http/proxy/proxy.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>

#include "http/chunks.h"
#include "http/proxy/upstream.h"
#include "http/proxy/upstream_answer.h"
#include "http/server/response_head.h"
#include "http/websocket/websocket_frames.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kRelayBytes = 64 << 10;
constexpr std::chrono::milliseconds kNoLimit{0};
// How long the other side may go on after the client of an upgraded connection has ended.
constexpr std::chrono::milliseconds kLastWords{10'000};

using How = Forwarded::How;

Forwarded outcome(How how, Error error) { return {.how = how, .error = std::move(error)}; }
Forwarded answered() { return {}; }

void rethrow_from_side(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

// A coroutine that runs in parallel; join() before what it uses is destroyed.
class BackgroundTask {
 public:
  explicit BackgroundTask(asio::any_io_executor executor) : executor_(executor), ended_(executor) {
    ended_.expires_at(std::chrono::steady_clock::time_point::max());
  }
  void start(asio::awaitable<void> work) {
    is_running_ = true;
    asio::co_spawn(executor_, run(std::move(work)), rethrow_from_side);
  }
  bool is_running() const { return is_running_; }
  asio::awaitable<void> join() {
    while (is_running_) co_await ended_.async_wait(kAwaitTuple);
  }

 private:
  asio::awaitable<void> run(asio::awaitable<void> work) {
    co_await std::move(work);
    is_running_ = false;
    ended_.cancel();
  }
  asio::any_io_executor executor_;
  asio::steady_timer ended_;
  bool is_running_ = false;
};

enum class RequestKind : std::uint8_t { kPlain, kUpgrade };

std::string request_head(const Request& request, const ProxyPlan& plan, RequestKind kind) {
  std::string out =
      request.method_word.empty() ? std::string(method_name(request.method)) : request.method_word;
  out += " " + plan.target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : plan.headers) out += name + ": " + value + "\r\n";
  if (kind == RequestKind::kUpgrade) {
    out += "Connection: Upgrade\r\nUpgrade: " + std::string(request.header("Upgrade")) + "\r\n\r\n";
    return out;
  }
  out += "Connection: close\r\n";
  const BodyStream* body = request.body_stream;
  if (body != nullptr && !body->length) {
    out += "Transfer-Encoding: chunked\r\n";
  } else if (request.headers.find("Content-Length") != nullptr && body != nullptr) {
    out += "Content-Length: " + std::to_string(*body->length) + "\r\n";
  }
  out += "\r\n";
  return out;
}

struct UploadState {
  Result<> client;  // what went wrong on the client's side
};

// The request's body, to the other side. If it stops reading, that is not an error: it may have
// answered.
asio::awaitable<void> upload(BodyStream& body, std::shared_ptr<Upstream> upstream,
                             std::chrono::milliseconds time, UploadState& state) {
  std::string buffer(kRelayBytes, '\0');
  for (;;) {
    const Result<std::size_t> got = co_await body.read_some(buffer.data(), buffer.size());
    if (!got) {
      state.client = fail(got.error());
      upstream->cancel();
      co_return;
    }
    const std::string_view bytes(buffer.data(), *got);
    Result<> sent;
    if (body.length) {
      if (bytes.empty()) co_return;
      sent = co_await upstream->write(bytes, {}, {}, time);
    } else if (bytes.empty()) {
      co_await upstream->write(kLastChunk, {}, {}, time);
      co_return;
    } else {
      const ChunkLine line(bytes.size());
      sent = co_await upstream->write(line.text(), bytes, kChunkEnd, time);
    }
    if (!sent) co_return;
  }
}

// What has been received of the answer, and its head.
struct Answer {
  UpstreamHead head;
  std::string rest;  // of the body, behind the head
};

Task<Answer> read_head(std::shared_ptr<Upstream> upstream, Method method,
                       std::chrono::milliseconds time) {
  UpstreamHeadReader reader(method);
  Answer answer;
  std::string buffer(kRelayBytes, '\0');
  for (;;) {
    CO_TRY(const std::size_t got, co_await upstream->read_some(buffer.data(), buffer.size(), time));
    if (got == 0) co_return fail(Errc::kProtocol, "the connection was closed without a response");
    answer.rest.append(buffer, 0, got);
    std::size_t used = 0;
    const UpstreamHeadReader::Step step = reader.read(answer.rest, used);
    answer.rest.erase(0, used);
    if (step == UpstreamHeadReader::Step::kMalformed) {
      co_return fail(Errc::kProtocol, "malformed HTTP response");
    }
    if (step != UpstreamHeadReader::Step::kDone) continue;
    answer.head = reader.take();
    co_return answer;
  }
}

// The body of an answer whose head has been written. False: it cannot be finished.
asio::awaitable<bool> relay_body(std::shared_ptr<Upstream> upstream, Answer answer,
                                 ResponseWriter& writer) {
  using Body = UpstreamHead::Body;
  const Body kind = answer.head.body;
  std::uint64_t left = answer.head.length;
  ChunkDecoder chunks;
  if (kind == Body::kNone || (kind == Body::kLength && left == 0)) co_return true;
  std::string buffer = std::move(answer.rest);
  std::size_t got = buffer.size();
  buffer.resize(std::max(buffer.size(), kRelayBytes));
  for (;;) {
    if (got > 0) {
      std::size_t content = got;
      if (kind == Body::kLength) content = std::min<std::uint64_t>(got, left);
      if (kind == Body::kChunked) content = chunks.decode(buffer.data(), got).content;
      const bool sent = co_await writer.write_view(std::string_view(buffer.data(), content));
      if (!sent) co_return false;
      left -= kind == Body::kLength ? content : 0;
      if (chunks.is_malformed()) co_return false;
      if (kind == Body::kLength ? left == 0 : chunks.is_done()) co_return true;
    }
    const Result<std::size_t> more =
        co_await upstream->read_some(buffer.data(), buffer.size(), kNoLimit);
    if (!more) co_return false;
    if (*more == 0) co_return kind == Body::kToTheEnd;
    got = *more;
  }
}

Headers answer_headers(const UpstreamHead& head, const ProxyPlan& plan) {
  Headers headers = head.headers;
  const std::string* length = headers.find("Content-Length");
  const std::optional<std::string> kept =
      length != nullptr ? std::optional<std::string>(*length) : std::nullopt;
  remove_hop_by_hop(headers);
  if (plan.on_answer) plan.on_answer(head.status, headers);
  headers.remove("Content-Length");
  // Also to HEAD, where there is no body.
  if (kept) headers.add("Content-Length", *kept);
  return headers;
}

How how_of(Errc code) {
  if (code == Errc::kTimeout) return How::kSilent;
  return How::kGarbage;
}

// The answer, once the request is on its way.
asio::awaitable<Forwarded> relay_answer(Method method, ResponseWriter& writer,
                                        std::shared_ptr<Upstream> upstream, const ProxyPlan& plan) {
  Result<Answer> answer = co_await read_head(upstream, method, plan.answer_time);
  if (!answer) co_return outcome(how_of(answer.error().code()), answer.error());
  if (answer->head.status == 101) {
    Error error(Errc::kProtocol, "it switched to a protocol that was not requested");
    co_return outcome(How::kGarbage, std::move(error));
  }
  Headers headers = answer_headers(answer->head, plan);
  const bool begun = co_await writer.begin(answer->head.status, std::move(headers));
  const bool is_whole = begun && co_await relay_body(upstream, std::move(*answer), writer);
  if (is_whole && co_await writer.finish()) co_return answered();
  Error error(Errc::kUnavailable, "the response was cut off");
  co_return outcome(How::kCut, std::move(error));
}

// An answer on the stream of an upgrade that was not granted: it ends with the connection.
class ClosingWriter final : public ResponseWriter {
 public:
  ClosingWriter(Request& request, RawStream& stream) : request_(request), stream_(stream) {}
  asio::awaitable<bool> begin(int status, Headers headers) override {
    is_begun_ = true;
    Framing framing;
    framing.is_forwarded = true;
    framing.after = AfterAnswer::kClose;
    stream_.set_status(status);
    std::string head = response_head(status, headers, request_.id, framing);
    co_return co_await stream_.write(std::move(head));
  }
  asio::awaitable<bool> write(std::string bytes) override {
    return stream_.write(std::move(bytes));
  }
  asio::awaitable<bool> write_view(std::string_view bytes) override {
    return stream_.write_views(bytes);
  }
  asio::awaitable<bool> finish() override { co_return true; }
  bool begun() const override { return is_begun_; }

 private:
  Request& request_;
  RawStream& stream_;
  bool is_begun_ = false;
};

// The client's bytes, until it or the other side ends; then the other side has a while to end too.
asio::awaitable<void> relay_up(RawStream& stream, std::shared_ptr<Upstream> upstream,
                               std::chrono::milliseconds send_time, asio::steady_timer& patience) {
  std::string buffer(kRelayBytes, '\0');
  for (;;) {
    const std::size_t got = co_await stream.read_some(buffer.data(), buffer.size());
    if (got == 0) break;
    const Result<> sent =
        co_await upstream->write(std::string_view(buffer.data(), got), {}, {}, send_time);
    if (!sent) break;
  }
  upstream->end_writing();
  // Unless it has ended already.
  const bool is_over = patience.expiry() == std::chrono::steady_clock::time_point::min();
  if (!is_over) patience.expires_after(kLastWords);
  co_await patience.async_wait(kAwaitTuple);
  upstream->cancel();
}

asio::awaitable<void> relay_raw(RawStream& stream, std::shared_ptr<Upstream> upstream,
                                std::string first, std::chrono::milliseconds send_time) {
  const auto executor = co_await asio::this_coro::executor;
  BackgroundTask up(executor);
  asio::steady_timer patience(executor);
  up.start(relay_up(stream, upstream, send_time, patience));
  bool open = first.empty() || co_await stream.write(std::move(first));
  std::string buffer(kRelayBytes, '\0');
  while (open) {
    const Result<std::size_t> got =
        co_await upstream->read_some(buffer.data(), buffer.size(), kNoLimit);
    if (!got || *got == 0) break;
    open = co_await stream.write_views(std::string_view(buffer.data(), *got));
  }
  patience.expires_at(std::chrono::steady_clock::time_point::min());
  stream.stop_reading();
  upstream->cancel();
  co_await up.join();
}

std::string switching_head(const UpstreamHead& head, const Request& request,
                           const ProxyPlan& plan) {
  Headers headers = answer_headers(head, plan);
  headers.remove("Content-Length");
  headers.set("Upgrade", std::string(head.headers.get("Upgrade")));
  Framing framing;
  framing.is_forwarded = true;
  framing.after = AfterAnswer::kUpgrade;
  return response_head(101, headers, request.id, framing);
}

}  // namespace

asio::awaitable<Forwarded> forward(Request& request, ResponseWriter& writer, UniqueFd socket,
                                   ProxyPlan plan) {
  const auto executor = co_await asio::this_coro::executor;
  Result<std::shared_ptr<Upstream>> opened = Upstream::open(executor, std::move(socket));
  if (!opened) co_return outcome(How::kGarbage, opened.error());
  const std::shared_ptr<Upstream> upstream = *opened;
  request.on_disconnect([weak = std::weak_ptr<Upstream>(upstream)] {
    if (const auto held = weak.lock()) held->cancel();
  });
  const Result<> there = co_await upstream->connected(plan.connect_time);
  if (!there) co_return outcome(How::kRefused, there.error());
  const std::string head = request_head(request, plan, RequestKind::kPlain);
  const Result<> sent = co_await upstream->write(head, {}, {}, plan.send_time);
  if (!sent) co_return outcome(how_of(sent.error().code()), sent.error());

  UploadState state;
  BackgroundTask uploading(executor);
  BodyStream* body = request.body_stream;
  if (body != nullptr && body->length != std::uint64_t{0}) {
    body->patience = plan.body_silence;
    uploading.start(upload(*body, upstream, plan.send_time, state));
  }
  Forwarded done = co_await relay_answer(request.method, writer, upstream, plan);
  if (uploading.is_running()) {
    body->cancel();
    upstream->cancel();
    co_await uploading.join();
  } else if (!state.client && done.how != How::kAnswered && done.how != How::kCut) {
    done = outcome(How::kClient, state.client.error());
  }
  if (request.disconnected() && done.how != How::kAnswered && done.how != How::kCut) {
    Error error(Errc::kUnavailable, "the client went away");
    done = outcome(How::kClient, std::move(error));
  }
  co_return done;
}

asio::awaitable<Forwarded> forward_upgrade(Request& request, RawStream& stream, UniqueFd socket,
                                           ProxyPlan plan) {
  const auto executor = co_await asio::this_coro::executor;
  Result<std::shared_ptr<Upstream>> opened = Upstream::open(executor, std::move(socket));
  if (!opened) co_return outcome(How::kGarbage, opened.error());
  const std::shared_ptr<Upstream> upstream = *opened;
  const Result<> there = co_await upstream->connected(plan.connect_time);
  if (!there) co_return outcome(How::kRefused, there.error());
  const std::string head = request_head(request, plan, RequestKind::kUpgrade);
  const Result<> sent = co_await upstream->write(head, {}, {}, plan.send_time);
  if (!sent) co_return outcome(how_of(sent.error().code()), sent.error());
  // The client is not watched meanwhile, so this must not take long.
  Result<Answer> answer = co_await read_head(upstream, request.method, plan.connect_time);
  if (!answer) co_return outcome(how_of(answer.error().code()), answer.error());
  if (answer->head.status != 101) {
    ClosingWriter writer(request, stream);
    Headers headers = answer_headers(answer->head, plan);
    const bool begun = co_await writer.begin(answer->head.status, std::move(headers));
    if (begun) co_await relay_body(upstream, std::move(*answer), writer);
    co_return answered();
  }
  // Only what was asked for: the client would read the rest as something else.
  if (!header_list_contains(request.header("Upgrade"), answer->head.headers.get("Upgrade"))) {
    Error error(Errc::kProtocol, "it switched to a protocol that was not requested");
    co_return outcome(How::kGarbage, std::move(error));
  }
  std::string switching = switching_head(answer->head, request, plan);
  const bool said = co_await stream.write(std::move(switching));
  if (said) co_await relay_raw(stream, upstream, std::move(answer->rest), plan.send_time);
  co_return answered();
}

}  // namespace glovebox::http
