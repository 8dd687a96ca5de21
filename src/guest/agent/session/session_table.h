// The processes of a session that the agent knows: those that run, and the newest of those that
// have ended, by every name they go by.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "guest/agent/session/session_process.h"

namespace glovebox::agent {

class ProcessTable {
 public:
  // Keys of processes, as epoll tells them: `topic`, and above the lowest kPartBits a number.
  static constexpr unsigned kPartBits = 4;
  explicit ProcessTable(std::uint64_t topic) : topic_(topic) {}

  SessionProcess& add(const wire::StartProcess& start, int epoll);
  SessionProcess* find(wire::ProcessNumber number);
  SessionProcess* find_by_key(std::uint64_t key);
  void forget(std::uint64_t key);

  // Which process of ours this is, until it is reaped.
  void has_pid(const SessionProcess& process) { pids_[process.pid()] = process.key(); }
  void pid_is_nobodys(pid_t pid) { pids_.erase(pid); }
  SessionProcess* reaped(pid_t pid);  // nothing: an orphan
  // Once it is told to have ended. The oldest of those go, and their output before them.
  void has_ended(const SessionProcess& process) { ended_.push_back(process.key()); }
  void keep_bounds();

  void has_something_to_say(SessionProcess& process);
  // Of each in turn; nothing: nobody has anything to say.
  std::optional<wire::SessionFrame> next_frame();

  std::size_t running() const { return processes_.size() - ended_.size(); }
  template <class Call>
  void for_each(Call call) {
    for (const auto& [key, process] : processes_) call(*process);
  }

 private:
  std::uint64_t topic_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::unique_ptr<SessionProcess>> processes_;  // by key: oldest first
  std::unordered_map<wire::ProcessNumber, std::uint64_t> keys_;
  std::unordered_map<pid_t, std::uint64_t> pids_;
  std::deque<std::uint64_t> talkers_;
  std::deque<std::uint64_t> ended_;  // oldest first
};

}  // namespace glovebox::agent
