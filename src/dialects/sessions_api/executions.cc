#include "dialects/sessions_api/executions.h"

#include <algorithm>
#include <utility>

namespace glovebox::sessions_api {

std::shared_ptr<Execution> Executions::begin(std::string project, std::string session,
                                             std::int64_t now_ms) {
  std::size_t& running = running_[session];
  if (running >= bounds_.running_per_session) return nullptr;
  ++running;
  auto execution = std::make_shared<Execution>();
  execution->project = std::move(project);
  execution->session = session;
  execution->created_ms = now_ms;
  by_id_.emplace(execution->id.str(), execution);
  last_.insert_or_assign(std::move(session), execution->id.str());
  return execution;
}

void Executions::end(const std::shared_ptr<Execution>& execution, std::string status,
                     std::string answer, Clock::time_point now) {
  execution->ended = true;
  execution->status = std::move(status);
  execution->answer = std::move(answer);
  const auto running = running_.find(execution->session);
  if (running != running_.end() && --running->second == 0) running_.erase(running);
  ended_bytes_ += execution->answer.size();
  ended_.push_back({execution, now});
  trim(execution->project, now);
}

std::shared_ptr<Execution> Executions::find(std::string_view project, std::string_view session,
                                            std::string_view id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  const auto& execution = found->second;
  const bool is_theirs = project == "*" || execution->project == project;
  return is_theirs && execution->session == session ? execution : nullptr;
}

std::shared_ptr<Execution> Executions::last_of(std::string_view project,
                                               std::string_view session) const {
  const auto last = last_.find(session);
  return last == last_.end() ? nullptr : find(project, session, last->second);
}

std::size_t Executions::running_of(std::string_view project, std::string_view session) const {
  const auto last = last_of(project, session);
  const auto running = running_.find(session);
  return last == nullptr || running == running_.end() ? 0 : running->second;
}

void Executions::forget(std::list<Ended>::iterator which) {
  const std::shared_ptr<Execution> execution = which->execution;
  ended_bytes_ -= execution->answer.size();
  by_id_.erase(execution->id.str());
  const auto last = last_.find(execution->session);
  if (last != last_.end() && last->second == execution->id.str()) last_.erase(last);
  ended_.erase(which);
}

void Executions::trim(const std::string& project, Clock::time_point now) {
  while (!ended_.empty() && (ended_.size() > bounds_.ended || ended_bytes_ > bounds_.ended_bytes ||
                             now - ended_.front().at > bounds_.age)) {
    forget(ended_.begin());
  }
  const auto is_theirs = [&project](const Ended& one) { return one.execution->project == project; };
  auto theirs = static_cast<std::size_t>(std::count_if(ended_.begin(), ended_.end(), is_theirs));
  for (auto at = ended_.begin(); theirs > bounds_.ended_per_project; --theirs) {
    at = std::find_if(at, ended_.end(), is_theirs);
    forget(at++);
  }
}

}  // namespace glovebox::sessions_api
