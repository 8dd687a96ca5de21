#include "bench/network_calls.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <optional>
#include <thread>

#include "http/client/client.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNetworkCallTimeout{90'000};
constexpr int kProgramMs = 60'000;
constexpr milliseconds kRunPause{10};
constexpr milliseconds kGonePollInterval{5};
constexpr milliseconds kGoesWithin{3'000};
// A flood begins before the measurement and ends after it.
constexpr milliseconds kFloodBefore{500};
constexpr unsigned kFloodMoreMs = 1'500;
// Pipes that a gateway keeps for reuse.
constexpr std::uint64_t kKeptDescriptors = 80;

double now_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Round failed(std::string why) {
  Round round;
  round.errors = 1;
  round.note = std::move(why);
  return round;
}

Round round_of(std::vector<double> ms) {
  Round round;
  round.runs = ms.size();
  round.ms = std::move(ms);
  return round;
}

// A session with a network policy; the destructor ends it.
class NetSession {
 public:
  NetSession(const client::ServerLocation& location, const std::string& net) : location_(location) {
    http::ClientOptions options;
    options.io_time = kNetworkCallTimeout;
    client_.emplace(http::parse_url(location.url).value(), std::move(options));
    const auto made = send(http::Method::kPost, "/v1/sandboxes",
                           R"({"template":"python","ttl_s":300,"profile":{"net":)" + net + "}}");
    if (!made || made->status != 201) {
      problem_ = made ? made->body : made.error().message();
      return;
    }
    boost::system::error_code error;
    const boost::json::value body = boost::json::parse(made->body, error);
    const auto* id = error || !body.is_object() ? nullptr : body.get_object().if_contains("id");
    if (id != nullptr && id->is_string()) id_ = std::string(id->get_string());
  }
  ~NetSession() {
    if (!id_.empty()) (void)send(http::Method::kDelete, "/v1/sandboxes/" + id_, "");
  }
  NetSession(const NetSession&) = delete;
  NetSession& operator=(const NetSession&) = delete;

  Result<Groups> run(const std::vector<std::string>& argv, std::size_t groups) {
    if (id_.empty()) return fail(Errc::kUnavailable, "no session: " + problem_);
    boost::json::object body;
    body["argv"] = boost::json::array(argv.begin(), argv.end());
    body["timeout_ms"] = kProgramMs;
    TRY(const http::ClientResponse answer,
        send(http::Method::kPost, "/v1/sandboxes/" + id_ + "/exec", boost::json::serialize(body)));
    boost::system::error_code error;
    const boost::json::value ran = boost::json::parse(answer.body, error);
    if (answer.status != 200 || error || !ran.is_object()) {
      return fail(Errc::kUnavailable, answer.body);
    }
    const boost::json::object& object = ran.get_object();
    const auto* code = object.if_contains("exit_code");
    const auto* out = object.if_contains("stdout");
    const auto* err = object.if_contains("stderr");
    if (code == nullptr || *code != 0 || out == nullptr || !out->is_string()) {
      std::string text = err != nullptr && err->is_string() ? std::string(err->get_string()) : "";
      while (text.ends_with('\n')) text.pop_back();
      // The last line of a traceback names the exception.
      return fail(Errc::kUnavailable, "in the sandbox: " + text.substr(text.rfind('\n') + 1));
    }
    return parse_groups(out->get_string(), groups);
  }

 private:
  Result<http::ClientResponse> send(http::Method method, std::string target, std::string body) {
    http::ClientRequest request{.method = method,
                                .target = std::move(target),
                                .headers = {{"Content-Type", "application/json"}},
                                .body = std::move(body)};
    if (!location_.key.empty()) request.headers.add("X-API-Key", location_.key);
    return client_->send(request);
  }

  client::ServerLocation location_;
  std::optional<http::Client> client_;
  std::string id_;
  std::string problem_;
};

NetworkTarget target_of(const NetworkPeer& peer) { return {peer.address(), peer.port()}; }

std::string usage_text(const ProcessUsage& usage) {
  char text[80];
  std::snprintf(text, sizeof text, "%llu descriptors and %.1f MB",
                static_cast<unsigned long long>(usage.descriptors),
                static_cast<double>(usage.resident_kib) / 1024);
  return text;
}

// Waits until no connection echoes any more and the gateway has closed its descriptors. Returns the
// last measured usage.
Result<ProcessUsage> usage_when_gone(const MeasuredServer& server, pid_t gateway,
                                     const ProcessUsage& before) {
  const auto deadline = Clock::now() + kGoesWithin;
  for (;;) {
    TRY(const ProcessUsage usage, usage_of(gateway));
    const bool is_gone = server.fixture.far->echoing() == 0 &&
                         usage.descriptors <= before.descriptors + kKeptDescriptors;
    if (is_gone || Clock::now() > deadline) return usage;
    std::this_thread::sleep_for(kGonePollInterval);
  }
}

// A neighbour that only opens connections, in its own session and thread.
class Neighbour {
 public:
  Neighbour(const MeasuredServer& server, NeighbourLoad load, unsigned for_ms) {
    if (load == NeighbourLoad::kNone) return;
    const NetworkTarget far = target_of(*server.fixture.far);
    // Denied by the policy. It is an address of this host, so a broken gateway would do no harm.
    const NetworkTarget to = load == NeighbourLoad::kFlood
                                 ? NetworkTarget{far.address, 9}
                                 : NetworkTarget{net::IpAddress::v4({127, 0, 0, 1}), 9};
    const std::string net = load == NeighbourLoad::kFlood
                                ? R"({"allow":[")" + far.address.text() + R"(/32:1"]})"
                                : R"("none")";
    session_.emplace(server.location, net);
    thread_ =
        std::thread([this, to, for_ms] { groups_ = session_->run(flood_program(to, for_ms), 1); });
    std::this_thread::sleep_for(kFloodBefore);
  }
  ~Neighbour() {
    if (thread_.joinable()) thread_.join();
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Adds its result to the round, which was measured from `began` to `ended`.
  void judge(Round& round, double began, double ended) {
    if (!thread_.joinable()) return;
    thread_.join();
    if (!groups_) {
      ++round.errors;
      round.note = groups_.error().message();
      return;
    }
    const std::vector<double>& figures = groups_->front();
    if (figures.size() != 3 || figures[0] > began || figures[1] < ended) {
      ++round.errors;
      round.note = "the neighbour did not run during the whole measurement";
      return;
    }
    char text[80];
    std::snprintf(text, sizeof text, "the neighbour opened %.0f connections per second",
                  figures[2] / (figures[1] - figures[0]));
    round.note = text;
  }

 private:
  std::optional<NetSession> session_;
  std::thread thread_;
  Result<Groups> groups_ = Groups{};
};

}  // namespace

Round run_outside(const std::vector<std::string>& argv) {
  const auto output = output_of({argv, {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"}});
  if (!output) return failed(output.error().message());
  auto groups = parse_groups(*output, 1);
  return groups ? round_of(std::move(groups->front())) : failed(groups.error().message());
}

Round run_inside(const client::ServerLocation& location, const std::string& net,
                 const std::vector<std::string>& argv) {
  NetSession session(location, net);
  auto groups = session.run(argv, 1);
  return groups ? round_of(std::move(groups->front())) : failed(groups.error().message());
}

RelayRounds measure_relays(const MeasuredServer& server, unsigned open, unsigned connects,
                           unsigned echoes) {
  const pid_t gateway = server.gateway_pid();
  const auto before = usage_of(gateway);
  std::optional<NetSession> session(std::in_place, server.location, R"("all")");
  Result<Groups> groups = Groups{};
  std::atomic<bool> ended{false};
  std::thread program([&] {
    groups =
        session->run(relays_program(target_of(*server.fixture.far), open, connects, echoes), 2);
    ended = true;
  });
  Result<ProcessUsage> during = ProcessUsage{};
  unsigned most = 0;
  while (!ended) {
    const unsigned now = server.fixture.far->echoing();
    if (most < open && now >= open) during = usage_of(gateway);
    most = std::max(most, now);
    std::this_thread::sleep_for(kGonePollInterval);
  }
  program.join();
  session.reset();
  if (!groups) return {failed(groups.error().message()), failed(groups.error().message())};
  RelayRounds rounds{round_of(std::move((*groups)[0])), round_of(std::move((*groups)[1]))};
  if (most < open) ++rounds.echoes.errors;
  if (!before || !during) {
    rounds.echoes.note = "the gateway's descriptors and memory cannot be read";
    return rounds;
  }
  const auto after = usage_when_gone(server, gateway, *before);
  rounds.echoes.note = "the gateway had " + usage_text(*before) + ", " + usage_text(*during) +
                       " with " + std::to_string(open) + " relays, and afterwards " +
                       (after ? usage_text(*after) : after.error().message());
  const bool all_are_gone = after && after->descriptors <= before->descriptors + kKeptDescriptors;
  if (!all_are_gone) ++rounds.echoes.errors;
  return rounds;
}

Round runs_beside(const MeasuredServer& server, NeighbourLoad load, const Job& job,
                  unsigned for_ms) {
  Neighbour neighbour(server, load, for_ms + kFloodMoreMs);
  Round round;
  Caller caller(server.location);
  (void)caller.get("/health");  // connects
  const double from = now_since_1970();
  const auto until = Clock::now() + milliseconds(for_ms);
  while (Clock::now() < until && !interrupted) {
    std::this_thread::sleep_for(kRunPause);
    const auto began = Clock::now();
    if (caller.call(job)) {
      round.ms.push_back(ms_since(began));
    } else {
      ++round.errors;
    }
  }
  round.runs = round.ms.size();
  neighbour.judge(round, from, now_since_1970());
  return round;
}

Round echoes_beside(const MeasuredServer& server, NeighbourLoad load, unsigned for_ms) {
  Neighbour neighbour(server, load, for_ms + kFloodMoreMs);
  const double from = now_since_1970();
  Round round =
      run_inside(server.location, R"("all")", echo_program(target_of(*server.fixture.far), for_ms));
  neighbour.judge(round, from, now_since_1970());
  return round;
}

}  // namespace glovebox::bench
