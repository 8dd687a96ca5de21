#include "bench/load.h"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "bench/process.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSettleTime{5'000};
constexpr milliseconds kWarmPollInterval{20};

http::Client make_client(const client::ServerLocation& location, milliseconds call_time) {
  http::ClientOptions options;
  options.io_time = call_time;
  // find_server_location() has checked the URL.
  return http::Client(http::parse_url(location.url).value(), std::move(options));
}

}  // namespace

std::atomic<bool> interrupted{false};

Caller::Caller(const client::ServerLocation& location, milliseconds call_time)
    : client_(make_client(location, call_time)), key_(location.key) {}

bool Caller::call(const Job& job, bool* is_warm) {
  http::ClientRequest request{.method = http::Method::kPost,
                              .target = "/v1/run",
                              .headers = {{"Content-Type", "application/json"}},
                              .body = job.body};
  if (!key_.empty()) request.headers.add("X-API-Key", key_);
  const auto response = client_.send(request);
  if (!response) {
    last_problem_ = response.error().message();
    return false;
  }
  const std::string_view body = response->body;
  // A text search is enough, and costs less CPU time than parsing.
  const bool is_right = response->status == 200 &&
                        body.find("\"stdout\":\"" + job.answer + "\"") != std::string_view::npos &&
                        body.find(job.also) != std::string_view::npos &&
                        body.find("\"exit_code\":0,") != std::string_view::npos;
  if (is_warm != nullptr) *is_warm = body.find("\"warm\":true") != std::string_view::npos;
  if (!is_right) last_problem_ = std::to_string(response->status) + ": " + response->body;
  return is_right;
}

unsigned Caller::call_batch(const Job& job, unsigned inputs) {
  std::string body = job.body + ",\"parallel\":16,\"inputs\":[{}";
  for (unsigned i = 1; i < inputs; ++i) body += ",{}";
  http::ClientRequest request{.method = http::Method::kPost,
                              .target = "/v1/run/batch",
                              .headers = {{"Content-Type", "application/json"}},
                              .body = body + "]}"};
  if (!key_.empty()) request.headers.add("X-API-Key", key_);
  const auto response = client_.send(request);
  if (!response || response->status != 200) {
    last_problem_ = response ? std::to_string(response->status) + ": " + response->body
                             : response.error().message();
    return 0;
  }
  unsigned right = 0;
  const std::string wanted = "\"stdout\":\"" + job.answer + "\"";
  for (std::size_t at = 0; at < response->body.size();) {
    const std::size_t end = std::min(response->body.find('\n', at), response->body.size());
    const std::string_view line = std::string_view(response->body).substr(at, end - at);
    if (line.find(wanted) != line.npos && line.find(job.also) != line.npos) {
      ++right;
    } else {
      last_problem_ = line;
    }
    at = end + 1;
  }
  return right;
}

std::string Caller::get(const std::string& target) {
  http::ClientRequest request;
  request.target = target;
  if (!key_.empty()) request.headers.add("X-API-Key", key_);
  auto response = client_.send(request);
  return response && response->status == 200 ? std::move(response->body) : "";
}

Round call_in_turn(const client::ServerLocation& location, const Job& job, unsigned calls,
                   milliseconds pause) {
  Round round;
  Caller caller(location);
  (void)caller.get("/health");  // connects
  for (unsigned i = 0; i < calls && !interrupted; ++i) {
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    const auto began = Clock::now();
    if (caller.call(job)) {
      round.ms.push_back(ms_since(began));
    } else {
      ++round.errors;
    }
  }
  round.runs = round.ms.size();
  return round;
}

Round call_from_many(const client::ServerLocation& location, const Job& job, unsigned clients,
                     milliseconds time) {
  std::vector<Round> parts(clients);
  std::barrier start(static_cast<std::ptrdiff_t>(clients) + 1);
  std::vector<std::thread> threads;
  for (Round& part : parts) {
    threads.emplace_back([&] {
      Caller caller(location);
      (void)caller.get("/health");
      start.arrive_and_wait();
      const auto deadline = Clock::now() + time;
      while (Clock::now() < deadline && !interrupted) {
        const auto began = Clock::now();
        if (caller.call(job)) {
          part.ms.push_back(ms_since(began));
        } else {
          ++part.errors;
        }
      }
    });
  }
  start.arrive_and_wait();
  const auto began = Clock::now();
  for (std::thread& thread : threads) thread.join();
  Round all;
  all.seconds = ms_since(began) / 1000;
  for (const Round& part : parts) {
    all.ms.insert(all.ms.end(), part.ms.begin(), part.ms.end());
    all.errors += part.errors;
  }
  all.runs = all.ms.size();
  return all;
}

Round call_batches(const client::ServerLocation& location, const Job& job, unsigned inputs,
                   unsigned requests) {
  constexpr milliseconds kBatchTime{120'000};
  Round round;
  Caller caller(location, kBatchTime);
  (void)caller.get("/health");
  const auto began = Clock::now();
  for (unsigned i = 0; i < requests && !interrupted; ++i) {
    const auto request_began = Clock::now();
    const unsigned right = caller.call_batch(job, inputs);
    round.runs += right;
    round.errors += inputs - right;
    if (right == inputs) round.ms.push_back(ms_since(request_began));
  }
  round.seconds = ms_since(began) / 1000;
  return round;
}

Round call_at_once(const client::ServerLocation& location, const Job& job, unsigned calls,
                   unsigned bursts) {
  Round round;
  for (unsigned burst = 0; burst < bursts && !interrupted; ++burst) {
    wait_until_settled(location);
    std::barrier start(static_cast<std::ptrdiff_t>(calls) + 1);
    std::atomic<unsigned> answered{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < calls; ++i) {
      threads.emplace_back([&] {
        Caller caller(location);
        (void)caller.get("/health");
        start.arrive_and_wait();
        if (caller.call(job)) ++answered;
      });
    }
    start.arrive_and_wait();
    const auto began = Clock::now();
    for (std::thread& thread : threads) thread.join();
    const double last = ms_since(began);
    round.runs += answered;
    round.errors += calls - answered;
    if (answered == calls) round.ms.push_back(last);
  }
  return round;
}

Result<> try_call(const client::ServerLocation& location, const Job& job) {
  Caller caller(location);
  if (caller.call(job)) return {};
  return fail(Errc::kUnavailable, caller.last_problem());
}

Result<> wait_until_warm(const client::ServerLocation& location, const Job& job,
                         milliseconds limit) {
  Caller caller(location);
  const auto deadline = Clock::now() + limit;
  bool is_warm = false;
  while (Clock::now() < deadline && !interrupted) {
    if (caller.call(job, &is_warm) && is_warm) return {};
    std::this_thread::sleep_for(kWarmPollInterval);
  }
  return fail(Errc::kTimeout, caller.last_problem().empty() ? "no call found a warm sandbox"
                                                            : caller.last_problem());
}

void wait_until_settled(const client::ServerLocation& location) {
  Caller caller(location);
  const auto deadline = Clock::now() + kSettleTime;
  while (Clock::now() < deadline && !interrupted) {
    std::this_thread::sleep_for(kWarmPollInterval);
    const std::string metrics = caller.get("/metrics");
    const bool is_quiet =
        metric_sum(metrics, "glovebox_runs_active") == 0 &&
        metric_sum(metrics, "glovebox_runs_queued") == 0 &&
        metric_sum(metrics, "glovebox_pool_making") == 0 &&
        metric_sum(metrics, "glovebox_pool_idle") >= metric_sum(metrics, "glovebox_pool_target");
    if (is_quiet) break;
  }
  // The kernel's cleanup after the last calls must not slow down the next.
  std::this_thread::sleep_for(milliseconds(200));
}

std::string string_in_response(const std::string& body, std::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":\"";
  const std::size_t at = body.find(key);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size();
  return body.substr(begin, body.find('"', begin) - begin);
}

double metric_sum(std::string_view metrics, std::string_view name) {
  double sum = 0;
  while (!metrics.empty()) {
    const std::size_t end = std::min(metrics.find('\n'), metrics.size());
    const std::string line(metrics.substr(0, end));
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
    if (!line.starts_with(name) || line.size() <= name.size()) continue;
    const char next = line[name.size()];
    const std::size_t space = line.rfind(' ');
    if ((next != ' ' && next != '{') || space == std::string::npos) continue;
    sum += std::strtod(line.c_str() + space, nullptr);
  }
  return sum;
}

}  // namespace glovebox::bench
