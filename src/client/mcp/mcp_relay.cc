#include "client/mcp/mcp_relay.h"

#include <algorithm>
#include <utility>

#include "client/connection/api_client.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kServerError = -32000;
constexpr std::size_t kMaxEvent = std::size_t{64} << 20;
constexpr std::size_t kMaxIdle = 8;
constexpr std::chrono::milliseconds kConnectTimeout{5'000};
// The server sends a keep-alive at least every ten seconds, also while a call runs.
constexpr std::chrono::milliseconds kIdleTimeout{60'000};
constexpr std::chrono::milliseconds kEndTimeout{3'000};

bool is_event_stream(const http::Headers& headers) {
  return headers.get("Content-Type").starts_with("text/event-stream");
}

std::string key_of(const json::value& id) { return json::serialize(id); }

std::string version_in(std::string_view text) {
  boost::system::error_code error;
  const json::value parsed = json::parse(text, error);
  const json::object* object = error ? nullptr : parsed.if_object();
  const json::value* result = object != nullptr ? object->if_contains("result") : nullptr;
  const json::value* version = result != nullptr && result->is_object()
                                   ? result->get_object().if_contains("protocolVersion")
                                   : nullptr;
  return version != nullptr && version->is_string() ? std::string(version->get_string()) : "";
}

// Errors about text that is not a message have no id, and are written with a null id.
bool is_about_no_request(int code) { return code == kParseError || code == kInvalidRequest; }

}  // namespace

McpRelay::McpRelay(FindServer find_server, WriteMessage write_message, json::object sandbox)
    : find_server_(std::move(find_server)),
      write_message_(std::move(write_message)),
      sandbox_(std::move(sandbox)) {}

McpRelay::~McpRelay() {
  std::unique_lock lock(mutex_);
  is_destroyed_ = true;
  for (http::Client* client : busy_) client->interrupt();
  changed_.notify_all();
  auto jobs = std::move(jobs_);
  lock.unlock();
  for (Job& job : jobs) job.thread.join();
}

void McpRelay::write(const std::string& message) {
  const std::lock_guard lock(write_mutex_);
  if (!is_output_closed_) is_output_closed_ = !write_message_(message);
}

void McpRelay::write_error(const Job& job, int code, const std::string& message) {
  {
    const std::lock_guard lock(mutex_);
    if (is_destroyed_ || cancelled_.contains(key_of(job.message.id))) return;
    if (job.message.id.is_null() && !is_about_no_request(code)) return;
  }
  write(rpc_error(job.message.id, code, message));
}

void McpRelay::join_finished() {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (!job->is_done) {
      ++job;
      continue;
    }
    job->thread.join();
    job = jobs_.erase(job);
  }
}

bool McpRelay::is_idle() {
  const std::lock_guard lock(mutex_);
  join_finished();
  return jobs_.empty();
}

void McpRelay::accept_line(std::optional<std::string> line) {
  if (!line) {
    write(rpc_error(nullptr, kInvalidRequest, "Invalid Request: the message is too long"));
    return;
  }
  auto message = read_rpc(*line);
  if (!message) {
    const bool is_other = is_json(*line);
    write(rpc_error(nullptr, is_other ? kInvalidRequest : kParseError,
                    is_other ? "Invalid Request: not a JSON object; batches are not supported"
                             : "Parse error: each line must be one JSON object"));
    return;
  }
  const json::value id = message->id;
  if (!begin(std::move(*line), std::move(*message))) {
    write(rpc_error(id, kServerError, "too many concurrent requests, or an id that is in use"));
  }
}

bool McpRelay::begin(std::string line, RpcMessage message) {
  const std::lock_guard lock(mutex_);
  join_finished();
  const bool is_request = !message.id.is_null() && !message.method.empty();
  if (!message.cancels.empty() && pending_.contains(message.cancels)) {
    cancelled_.insert(message.cancels);
  }
  if (is_request && (jobs_.size() >= kMaxAtOnce || pending_.contains(key_of(message.id)))) {
    return false;
  }
  if (jobs_.size() >= 2 * kMaxAtOnce) return true;  // drops notifications: they have no response
  if (is_request) pending_.insert(key_of(message.id));
  if (is_request && message.method == "initialize") is_initializing_ = true;
  jobs_.push_back({std::move(line), std::move(message)});
  Job& job = jobs_.back();
  job.thread = std::thread([this, &job] { run(job); });
  return true;
}

void McpRelay::run(Job& job) {
  if (job.message.method == "initialize" && !job.message.id.is_null()) {
    begin_session(job);
  } else {
    forward(job);
  }
  const std::lock_guard lock(mutex_);
  if (!job.message.id.is_null()) {
    pending_.erase(key_of(job.message.id));
    cancelled_.erase(key_of(job.message.id));
  }
  job.is_done = true;
  changed_.notify_all();
}

std::unique_ptr<http::Client> McpRelay::take_client(const ServerLocation& location) {
  const std::lock_guard lock(mutex_);
  if (is_destroyed_) return nullptr;
  std::unique_ptr<http::Client> client;
  if (idle_url_ == location.url && !idle_.empty()) {
    client = std::move(idle_.back());
    idle_.pop_back();
  } else {
    const auto url = http::parse_url(location.url);
    if (!url) return nullptr;
    http::ClientOptions options;
    options.connect_time = kConnectTimeout;
    options.io_time = kIdleTimeout;
    client = std::make_unique<http::Client>(*url, std::move(options));
  }
  busy_.insert(client.get());
  return client;
}

void McpRelay::return_client(std::unique_ptr<http::Client> client, const std::string& url) {
  const std::lock_guard lock(mutex_);
  busy_.erase(client.get());
  if (idle_url_ != url) idle_.clear();
  idle_url_ = url;
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(client));
}

Result<McpRelay::Reply> McpRelay::send(const std::string& text, const RpcMessage& message,
                                       const Session& session,
                                       const std::function<void(std::string)>& on_message) {
  Result<ServerLocation> location = fail(Errc::kUnavailable, "no server");
  {
    const std::lock_guard lock(location_mutex_);
    location = find_server_();
  }
  if (!location) return fail(std::move(location.error()));
  http::ClientRequest request;
  request.method = http::Method::kPost;
  request.target = "/mcp";
  request.body = text;
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "application/json, text/event-stream");
  if (!location->key.empty()) request.headers.set("X-API-Key", location->key);
  if (!session.id.empty()) request.headers.set("Mcp-Session-Id", session.id);
  if (!session.version.empty()) request.headers.set("MCP-Protocol-Version", session.version);
  auto client = take_client(*location);
  if (!client) return fail(Errc::kUnavailable, "the relay is ending");

  Reply reply;
  bool is_stream = false;
  EventReader reader(kMaxEvent);
  std::string whole;
  const auto deliver = [&](std::string one) {
    const auto read = read_rpc(one);
    reply.has_response =
        reply.has_response || (read && read->is_response && read->id == message.id);
    if (read) on_message(std::move(one));
  };
  const auto on_chunk = [&](std::string_view piece) {
    if (!is_stream) {
      whole += piece;
      return whole.size() <= kMaxEvent;
    }
    std::vector<std::string> events;
    const bool fits = reader.add(piece, events);
    for (std::string& event : events) deliver(std::move(event));
    return fits;
  };
  const auto on_head = [&](const http::ClientResponse& head) {
    is_stream = is_event_stream(head.headers);
  };
  auto response = client->stream(request, on_chunk, on_head);
  return_client(std::move(client), location->url);
  if (!response) {
    const std::string message_text =
        response.error().message() + " (" + location->url + ", from " + location->origin + ")";
    return fail(Error(response.error().code(), message_text, response.error().sys_errno()));
  }
  if (!whole.empty() && response->status == 200) deliver(std::move(whole));
  reply.status = response->status;
  reply.session = response->headers.get("Mcp-Session-Id");
  reply.body = std::move(response->body);
  return reply;
}

std::string McpRelay::error_text(const Reply& reply) {
  std::string text = read_error_reply(reply.body).message;
  if (reply.status == 401) {
    return "the server rejected the key: set GLOVEBOX_API_KEY or use --key KEY";
  }
  if (text.empty()) text = "the server responded with status " + std::to_string(reply.status);
  return text;
}

void McpRelay::forward_error(const Job& job, const Reply& reply) {
  const int code = read_error_reply(reply.body).code;
  write_error(job, code != 0 ? code : kServerError, error_text(reply));
}

void McpRelay::begin_session(Job& job) {
  Session started;
  const auto on_message = [&](std::string one) {
    const std::string version = version_in(one);
    if (!version.empty()) started.version = version;
    if (auto line = on_one_line(one)) write(*line);
  };
  const std::string text =
      sandbox_.empty() ? job.text : initialize_with_sandbox(job.text, sandbox_);
  auto reply = send(text, job.message, {}, on_message);
  {
    const std::lock_guard lock(mutex_);
    is_initializing_ = false;
    if (reply && reply->status == 200 && !reply->session.empty()) {
      started.id = reply->session;
      started.number = session_.number + 1;
      session_ = started;
      initialize_ = text;
    }
    changed_.notify_all();
  }
  if (!reply) {
    write_error(job, kServerError, reply.error().message());
  } else if (!reply->has_response) {
    forward_error(job, *reply);
  }
}

// The server does not know the session any more: it was restarted, or the session has expired.
Result<McpRelay::Session> McpRelay::restart_session(const Session& lost) {
  const std::lock_guard restart_lock(restart_mutex_);
  std::string first;
  {
    const std::lock_guard lock(mutex_);
    if (session_.number != lost.number) return session_;  // another thread has done it
    first = calls_ > 0 ? initialize_after_loss(initialize_) : initialize_;
  }
  if (first.empty()) return fail(Errc::kConflict, "the session was not initialized");
  const auto message = read_rpc(first);
  Session started;
  const auto keep_version = [&](std::string one) { started.version = version_in(one); };
  TRY(const Reply reply, send(first, message.value_or(RpcMessage{}), {}, keep_version));
  if (reply.status != 200 || reply.session.empty()) {
    return fail(Errc::kUnavailable, error_text(reply));
  }
  started.id = reply.session;
  const auto ignore = [](std::string) {};
  const std::string ready = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
  TRY_OK(send(ready, {}, started, ignore));
  const std::lock_guard lock(mutex_);
  started.number = session_.number + 1;
  session_ = started;
  return started;
}

void McpRelay::forward(Job& job) {
  Session session;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_initializing_ || is_destroyed_; });
    if (is_destroyed_) return;
    session = session_;
  }
  const auto on_message = [&](std::string one) {
    if (auto line = on_one_line(one)) write(*line);
  };
  const auto send_to = [&](const Session& to) {
    const std::size_t call = job.message.method == "tools/call" ? 1 : 0;
    {
      const std::lock_guard lock(mutex_);
      calls_ += call;
    }
    auto sent = send(job.text, job.message, to, on_message);
    const std::lock_guard lock(mutex_);
    if (sent && sent->status >= 300) calls_ -= call;
    return sent;
  };
  auto reply = send_to(session);
  if (reply && reply->status == 404 && !session.id.empty()) {
    auto again = restart_session(session);
    if (!again) {
      write_error(job, kServerError, again.error().message());
      return;
    }
    reply = send_to(*again);
  }
  if (!reply) {
    write_error(job, kServerError, reply.error().message());
  } else if (reply->status >= 300) {
    forward_error(job, *reply);
  } else if (!reply->has_response) {
    bool is_ending = false;
    {
      const std::lock_guard lock(mutex_);
      is_ending = is_ending_;
    }
    write_error(job, kServerError,
                is_ending ? "the session ended: standard input was closed"
                          : "the server closed the connection without a response");
  }
}

void McpRelay::end_session() {
  Session session;
  {
    const std::lock_guard lock(mutex_);
    session = std::exchange(session_, {});
    is_ending_ = true;
  }
  if (session.id.empty()) return;
  Result<ServerLocation> location = fail(Errc::kUnavailable, "no server");
  {
    const std::lock_guard lock(location_mutex_);
    location = find_server_();
  }
  const auto url =
      location ? http::parse_url(location->url) : fail(Errc::kUnavailable, "no server");
  if (!url) return;
  http::ClientOptions options;
  options.connect_time = options.io_time = kEndTimeout;
  http::Client client(*url, std::move(options));
  http::ClientRequest request;
  request.method = http::Method::kDelete;
  request.target = "/mcp";
  if (!location->key.empty()) request.headers.set("X-API-Key", location->key);
  request.headers.set("Mcp-Session-Id", session.id);
  if (!session.version.empty()) request.headers.set("MCP-Protocol-Version", session.version);
  (void)client.send(request);
}

}  // namespace glovebox::client
