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
constexpr std::chrono::milliseconds kConnectTime{5'000};
// A server that is alive says something within ten seconds, also while a call runs.
constexpr std::chrono::milliseconds kSilence{60'000};
constexpr std::chrono::milliseconds kEndTime{3'000};

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

// Of what is no message at all: it is said to whoever can hear it, for want of an id.
bool is_of_no_request(int code) { return code == kParseError || code == kInvalidRequest; }

}  // namespace

Relay::Relay(FindPlace find_place, Say say)
    : find_place_(std::move(find_place)), say_(std::move(say)) {}

Relay::~Relay() {
  std::unique_lock lock(mutex_);
  is_over_ = true;
  for (http::Client* client : busy_) client->interrupt();
  changed_.notify_all();
  auto jobs = std::move(jobs_);
  lock.unlock();
  for (Job& job : jobs) job.thread.join();
}

void Relay::say(const std::string& message) {
  const std::lock_guard lock(say_mutex_);
  if (!is_deaf_) is_deaf_ = !say_(message);
}

void Relay::refuse(const Job& job, int code, const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (is_over_ || cancelled_.contains(key_of(job.message.id))) return;
    if (job.message.id.is_null() && !is_of_no_request(code)) return;
  }
  say(rpc_error(job.message.id, code, why));
}

void Relay::sweep() {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    if (!job->is_done) {
      ++job;
      continue;
    }
    job->thread.join();
    job = jobs_.erase(job);
  }
}

bool Relay::is_idle() {
  const std::lock_guard lock(mutex_);
  sweep();
  return jobs_.empty();
}

void Relay::take(std::optional<std::string> line) {
  if (!line) {
    say(rpc_error(nullptr, kInvalidRequest, "Invalid Request: the message is too long"));
    return;
  }
  auto message = read_rpc(*line);
  if (!message) {
    const bool is_other = is_json(*line);
    say(rpc_error(nullptr, is_other ? kInvalidRequest : kParseError,
                  is_other ? "Invalid Request: not a JSON object; batches are not taken"
                           : "Parse error: not one JSON object to a line"));
    return;
  }
  const json::value id = message->id;
  if (!begin(std::move(*line), std::move(*message))) {
    say(rpc_error(id, kServerError, "too many requests at once, or two with one id"));
  }
}

bool Relay::begin(std::string line, RpcMessage message) {
  const std::lock_guard lock(mutex_);
  sweep();
  const bool is_request = !message.id.is_null() && !message.method.empty();
  if (!message.cancels.empty() && under_way_.contains(message.cancels)) {
    cancelled_.insert(message.cancels);
  }
  if (is_request && (jobs_.size() >= kMaxAtOnce || under_way_.contains(key_of(message.id)))) {
    return false;
  }
  if (jobs_.size() >= 2 * kMaxAtOnce) return true;  // notifications alone: nobody waits for them
  if (is_request) under_way_.insert(key_of(message.id));
  if (is_request && message.method == "initialize") is_beginning_ = true;
  jobs_.push_back({std::move(line), std::move(message)});
  Job& job = jobs_.back();
  job.thread = std::thread([this, &job] { run(job); });
  return true;
}

void Relay::run(Job& job) {
  if (job.message.method == "initialize" && !job.message.id.is_null()) {
    begin_session(job);
  } else {
    forward(job);
  }
  const std::lock_guard lock(mutex_);
  if (!job.message.id.is_null()) {
    under_way_.erase(key_of(job.message.id));
    cancelled_.erase(key_of(job.message.id));
  }
  job.is_done = true;
  changed_.notify_all();
}

std::unique_ptr<http::Client> Relay::take_client(const Place& place) {
  const std::lock_guard lock(mutex_);
  if (is_over_) return nullptr;
  std::unique_ptr<http::Client> client;
  if (idle_url_ == place.url && !idle_.empty()) {
    client = std::move(idle_.back());
    idle_.pop_back();
  } else {
    const auto url = http::parse_url(place.url);
    if (!url) return nullptr;
    http::ClientOptions options;
    options.connect_time = kConnectTime;
    options.io_time = kSilence;
    client = std::make_unique<http::Client>(*url, std::move(options));
  }
  busy_.insert(client.get());
  return client;
}

void Relay::put_back(std::unique_ptr<http::Client> client, const std::string& url) {
  const std::lock_guard lock(mutex_);
  busy_.erase(client.get());
  if (idle_url_ != url) idle_.clear();
  idle_url_ = url;
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(client));
}

Result<Relay::Answer> Relay::send(const std::string& text, const RpcMessage& message,
                                  const Session& session,
                                  const std::function<void(std::string)>& on_message) {
  Result<Place> place = fail(Errc::kUnavailable, "no server");
  {
    const std::lock_guard lock(place_mutex_);
    place = find_place_();
  }
  if (!place) return fail(std::move(place.error()));
  http::ClientRequest request;
  request.method = http::Method::kPost;
  request.target = "/mcp";
  request.body = text;
  request.headers.set("Content-Type", "application/json");
  request.headers.set("Accept", "application/json, text/event-stream");
  if (!place->key.empty()) request.headers.set("X-API-Key", place->key);
  if (!session.id.empty()) request.headers.set("Mcp-Session-Id", session.id);
  if (!session.version.empty()) request.headers.set("MCP-Protocol-Version", session.version);
  auto client = take_client(*place);
  if (!client) return fail(Errc::kUnavailable, "the relay is ending");

  Answer answer;
  bool is_stream = false;
  EventReader reader(kMaxEvent);
  std::string whole;
  const auto pass = [&](std::string one) {
    const auto read = read_rpc(one);
    answer.answered = answer.answered || (read && read->is_response && read->id == message.id);
    if (read) on_message(std::move(one));
  };
  const auto on_chunk = [&](std::string_view piece) {
    if (!is_stream) {
      whole += piece;
      return whole.size() <= kMaxEvent;
    }
    std::vector<std::string> events;
    const bool fits = reader.add(piece, events);
    for (std::string& event : events) pass(std::move(event));
    return fits;
  };
  const auto on_head = [&](const http::ClientResponse& head) {
    is_stream = is_event_stream(head.headers);
  };
  auto response = client->stream(request, on_chunk, on_head);
  put_back(std::move(client), place->url);
  if (!response) {
    const std::string why =
        response.error().message() + " (" + place->url + ", which is from " + place->origin + ")";
    return fail(Error(response.error().code(), why, response.error().sys_errno()));
  }
  if (!whole.empty() && response->status == 200) pass(std::move(whole));
  answer.status = response->status;
  answer.session = response->headers.get("Mcp-Session-Id");
  answer.body = std::move(response->body);
  return answer;
}

std::string Relay::refusal_words(const Answer& answer) {
  std::string said = read_refusal(answer.body).message;
  if (answer.status == 401) {
    return "the server wants another key: set GLOVEBOX_API_KEY or say --key KEY";
  }
  if (said.empty()) said = "the server answered " + std::to_string(answer.status);
  return said;
}

void Relay::refuse_as_told(const Job& job, const Answer& answer) {
  const int code = read_refusal(answer.body).code;
  refuse(job, code != 0 ? code : kServerError, refusal_words(answer));
}

void Relay::begin_session(Job& job) {
  Session begun;
  const auto on_message = [&](std::string one) {
    const std::string version = version_in(one);
    if (!version.empty()) begun.version = version;
    if (auto line = on_one_line(one)) say(*line);
  };
  auto answer = send(job.text, job.message, {}, on_message);
  {
    const std::lock_guard lock(mutex_);
    is_beginning_ = false;
    if (answer && answer->status == 200 && !answer->session.empty()) {
      begun.id = answer->session;
      begun.number = session_.number + 1;
      session_ = begun;
      initialize_ = job.text;
    }
    changed_.notify_all();
  }
  if (!answer) {
    refuse(job, kServerError, answer.error().message());
  } else if (!answer->answered) {
    refuse_as_told(job, *answer);
  }
}

// The server has forgotten us: it was started anew, or we were silent for too long.
Result<Relay::Session> Relay::begin_anew(const Session& lost) {
  const std::lock_guard one_at_a_time(again_mutex_);
  std::string first;
  {
    const std::lock_guard lock(mutex_);
    if (session_.number != lost.number) return session_;  // somebody was faster
    first = calls_ > 0 ? resuming(initialize_) : initialize_;
  }
  if (first.empty()) return fail(Errc::kConflict, "the conversation has not begun");
  const auto message = read_rpc(first);
  Session begun;
  const auto keep_version = [&](std::string one) { begun.version = version_in(one); };
  TRY(const Answer answer, send(first, message.value_or(RpcMessage{}), {}, keep_version));
  if (answer.status != 200 || answer.session.empty()) {
    return fail(Errc::kUnavailable, refusal_words(answer));
  }
  begun.id = answer.session;
  const auto nothing = [](std::string) {};
  const std::string ready = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
  TRY_OK(send(ready, {}, begun, nothing));
  const std::lock_guard lock(mutex_);
  begun.number = session_.number + 1;
  session_ = begun;
  return begun;
}

void Relay::forward(Job& job) {
  Session session;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_beginning_ || is_over_; });
    if (is_over_) return;
    session = session_;
  }
  const auto on_message = [&](std::string one) {
    if (auto line = on_one_line(one)) say(*line);
  };
  const auto send_it = [&](const Session& to) {
    const std::size_t call = job.message.method == "tools/call" ? 1 : 0;
    {
      const std::lock_guard lock(mutex_);
      calls_ += call;
    }
    auto given = send(job.text, job.message, to, on_message);
    const std::lock_guard lock(mutex_);
    if (given && given->status >= 300) calls_ -= call;
    return given;
  };
  auto answer = send_it(session);
  if (answer && answer->status == 404 && !session.id.empty()) {
    auto again = begin_anew(session);
    if (!again) {
      refuse(job, kServerError, again.error().message());
      return;
    }
    answer = send_it(*again);
  }
  if (!answer) {
    refuse(job, kServerError, answer.error().message());
  } else if (answer->status >= 300) {
    refuse_as_told(job, *answer);
  } else if (!answer->answered) {
    bool is_ending = false;
    {
      const std::lock_guard lock(mutex_);
      is_ending = is_ending_;
    }
    refuse(job, kServerError,
           is_ending ? "the conversation was ended: standard input was closed"
                     : "the server ended its answer without a response");
  }
}

void Relay::end_conversation() {
  Session session;
  {
    const std::lock_guard lock(mutex_);
    session = std::exchange(session_, {});
    is_ending_ = true;
  }
  if (session.id.empty()) return;
  Result<Place> place = fail(Errc::kUnavailable, "no server");
  {
    const std::lock_guard lock(place_mutex_);
    place = find_place_();
  }
  const auto url = place ? http::parse_url(place->url) : fail(Errc::kUnavailable, "no server");
  if (!url) return;
  http::ClientOptions options;
  options.connect_time = options.io_time = kEndTime;
  http::Client client(*url, std::move(options));
  http::ClientRequest request;
  request.method = http::Method::kDelete;
  request.target = "/mcp";
  if (!place->key.empty()) request.headers.set("X-API-Key", place->key);
  request.headers.set("Mcp-Session-Id", session.id);
  if (!session.version.empty()) request.headers.set("MCP-Protocol-Version", session.version);
  (void)client.send(request);
}

}  // namespace glovebox::client
