// Calls to a server, timed: one after another, many clients, all at once. Each client has a thread
// and a connection that is kept.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>

#include "client/bench/statistics.h"
#include "client/place.h"
#include "http/client.h"

namespace glovebox::bench {

// Set by a signal: whoever loops looks at it.
extern std::atomic<bool> interrupted;

// A run and what it must answer.
struct Job {
  std::string body;    // of POST /v1/run
  std::string answer;  // its standard output, as it stands in JSON
  std::string also{};  // something else that must stand in the answer
};

class Caller {
 public:
  static constexpr std::chrono::milliseconds kUsualTime{30'000};
  explicit Caller(const client::Place& place, std::chrono::milliseconds call_time = kUsualTime);

  // True: the run was right. `is_warm`, if given, says whether its sandbox waited for it.
  bool call(const Job& job, bool* is_warm = nullptr);
  // The body of a GET that succeeded, else "".
  std::string get(const std::string& target);
  const std::string& last_problem() const { return last_problem_; }

 private:
  http::Client client_;
  std::string key_;
  std::string last_problem_;
};

Round call_in_turn(const client::Place& place, const Job& job, unsigned calls,
                   std::chrono::milliseconds pause);
Round call_from_many(const client::Place& place, const Job& job, unsigned clients,
                     std::chrono::milliseconds time);
// Each time is that of the last answer of a burst.
Round call_at_once(const client::Place& place, const Job& job, unsigned calls, unsigned bursts);

// One call, or what is wrong with its answer.
Result<> try_call(const client::Place& place, const Job& job);
// Until a call of this kind finds a sandbox waiting; the last problem if it does not come to that.
Result<> wait_until_warm(const client::Place& place, const Job& job,
                         std::chrono::milliseconds limit);
// Until the server has nothing to do, and its pools are as full as they should be.
void wait_until_settled(const client::Place& place);

// The text behind "name": in a JSON body; "" where there is none.
std::string text_after(const std::string& body, std::string_view name);
// The sum of a metric's values over its labels; "" or text without it: 0.
double metric_sum(std::string_view metrics, std::string_view name);

}  // namespace glovebox::bench
