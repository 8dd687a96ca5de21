// Executions that run, and the results of the last ones. In memory, bounded; each that has ended is
// also a run record in the store (GET /v1/runs/{id}), which survives a restart.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/run_record.h"

namespace glovebox::sessions_api {

struct Execution {
  store::RunId id = store::RunId::make();
  std::string project{};
  std::string session{};
  std::int64_t created_ms = 0;
  bool ended = false;
  std::string status = "running";  // then completed, failed or timeout
  std::string answer{};            // the complete JSON, when it has ended
};

class Executions {
 public:
  using Clock = std::chrono::steady_clock;
  struct Bounds {
    std::size_t running_per_session = 16;
    std::size_t ended_per_project = 128;
    std::size_t ended = 4096;             // of all
    std::size_t ended_bytes = 64u << 20;  // of all
    std::chrono::milliseconds age{3'600'000};
  };
  Executions() = default;
  explicit Executions(Bounds bounds) : bounds_(bounds) {}

  // Null: the session has as many as it may.
  std::shared_ptr<Execution> begin(std::string project, std::string session, std::int64_t now_ms);
  void end(const std::shared_ptr<Execution>& execution, std::string status, std::string answer,
           Clock::time_point now);

  // Of that project and session. Null: unknown, or forgotten.
  std::shared_ptr<Execution> find(std::string_view project, std::string_view session,
                                  std::string_view id) const;
  std::shared_ptr<Execution> last_of(std::string_view project, std::string_view session) const;
  std::size_t running_of(std::string_view project, std::string_view session) const;
  std::size_t size() const { return by_id_.size(); }

 private:
  struct Ended {
    std::shared_ptr<Execution> execution;
    Clock::time_point at;
  };
  void forget(std::list<Ended>::iterator which);
  void trim(const std::string& project, Clock::time_point now);

  Bounds bounds_{};
  std::map<std::string, std::shared_ptr<Execution>, std::less<>> by_id_;
  std::map<std::string, std::string, std::less<>> last_;  // of a session, by its id
  std::map<std::string, std::size_t, std::less<>> running_;
  std::list<Ended> ended_;  // oldest first
  std::size_t ended_bytes_ = 0;
};

}  // namespace glovebox::sessions_api
