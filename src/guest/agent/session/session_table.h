// The processes of a session: those that run, and the newest of those that have ended, by number,
// key and pid.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "guest/agent/session/session_process.h"

namespace glovebox::agent {

class ProcessTable {
 public:
  // Keys of processes, as epoll tells them: `topic`, and above the lowest kStreamBits a number.
  static constexpr unsigned kStreamBits = 4;
  explicit ProcessTable(std::uint64_t topic) : topic_(topic) {}

  SessionProcess& add(const wire::StartProcess& start, int epoll);
  SessionProcess* find(wire::ProcessNumber number);
  SessionProcess* find_by_key(std::uint64_t key);
  void forget(std::uint64_t key);

  // Remembers the pid of a process until it is reaped.
  void has_pid(const SessionProcess& process) { pids_[process.pid()] = process.key(); }
  void forget_pid(pid_t pid) { pids_.erase(pid); }
  SessionProcess* reaped(pid_t pid);  // null: an orphan
  // Once its end was sent. The oldest ended processes are dropped, their output first.
  void has_ended(const SessionProcess& process) { ended_.push_back(process.key()); }
  void enforce_bounds();

  // About a process that is not there: nothing.
  void handle(const wire::CloseInput& close);
  void handle(const wire::Subscribe& subscribe);
  void handle(const wire::Unsubscribe& unsubscribe);
  void handle(const wire::Acknowledge& acknowledge);
  void handle(const wire::SetLossy& lossy);
  void handle(const wire::SignalProcess& signal);
  void handle(const wire::ResizeProcess& resize);

  void queue_for_sending(SessionProcess& process);
  // Round robin over the processes; nothing: none has a frame to send.
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
  std::deque<std::uint64_t> ready_;
  std::deque<std::uint64_t> ended_;  // oldest first
};

}  // namespace glovebox::agent
