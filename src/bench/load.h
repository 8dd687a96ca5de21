// Timed calls to a server: one after another, from many clients, or all at once. Every client has
// its own thread and keep-alive connection.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "bench/statistics.h"
#include "client/connection/server_location.h"
#include "http/client/client.h"

namespace glovebox::bench {

// Set by a signal handler; loops check it.
extern std::atomic<bool> interrupted;

// A run and its expected result.
struct Job {
  std::string body;    // of POST /v1/run
  std::string answer;  // its standard output, as JSON has it
  std::string also{};  // other text that the response must contain
};

class Caller {
 public:
  static constexpr std::chrono::milliseconds kUsualTime{30'000};
  explicit Caller(const client::ServerLocation& location,
                  std::chrono::milliseconds call_time = kUsualTime);

  // True: the result was as expected. `is_warm`, if given: whether the sandbox was started before.
  bool call(const Job& job, bool* is_warm = nullptr);
  // A request for so many runs; how many of them had the expected result.
  unsigned call_batch(const Job& job, unsigned inputs);
  // The body of a GET that succeeded, else "".
  std::string get(const std::string& target);
  const std::string& last_problem() const { return last_problem_; }

 private:
  http::Client client_;
  std::string key_;
  std::string last_problem_;
};

Round call_in_turn(const client::ServerLocation& location, const Job& job, unsigned calls,
                   std::chrono::milliseconds pause);
Round call_from_many(const client::ServerLocation& location, const Job& job, unsigned clients,
                     std::chrono::milliseconds time);
// Requests for `inputs` runs each, of which 16 are made at a time; each time is that of a whole
// request. The job's body is that of a run without its end; its inputs follow.
Round call_batches(const client::ServerLocation& location, const Job& job, unsigned inputs,
                   unsigned requests);
// Each time is that of the last response of a burst.
Round call_at_once(const client::ServerLocation& location, const Job& job, unsigned calls,
                   unsigned bursts);

// One call; the error says what is wrong with its response.
Result<> try_call(const client::ServerLocation& location, const Job& job);
// Calls until one finds a warm sandbox. The error is the last problem.
Result<> wait_until_warm(const client::ServerLocation& location, const Job& job,
                         std::chrono::milliseconds limit);
// Waits until the server is idle and its pools are full.
void wait_until_settled(const client::ServerLocation& location);

// The value of a string field of a JSON response, without parsing it; empty if there is none.
std::string string_in_response(const std::string& body, std::string_view name);

// The sum of a metric's values over its labels; 0 if it is not in the text.
double metric_sum(std::string_view metrics, std::string_view name);

}  // namespace glovebox::bench
