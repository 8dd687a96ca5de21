#include "guest/agent/session/session_table.h"

#include <utility>

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxEnded = 256;
constexpr std::size_t kMaxEndedOutput = 8 * 1024 * 1024;

}  // namespace

SessionProcess& ProcessTable::add(const wire::StartProcess& start, int epoll) {
  const std::uint64_t key = topic_ + (++last_ << kStreamBits);
  auto& process = processes_[key];
  process = std::make_unique<SessionProcess>(start, epoll, key);
  keys_[start.process] = key;
  return *process;
}

SessionProcess* ProcessTable::find_by_key(std::uint64_t key) {
  const auto at = processes_.find(key);
  return at == processes_.end() ? nullptr : at->second.get();
}

SessionProcess* ProcessTable::find(wire::ProcessNumber number) {
  const auto at = keys_.find(number);
  return at == keys_.end() ? nullptr : find_by_key(at->second);
}

void ProcessTable::forget(std::uint64_t key) {
  const auto at = processes_.find(key);
  if (at == processes_.end()) return;
  keys_.erase(at->second->number());
  std::erase(ended_, key);
  processes_.erase(at);
}

SessionProcess* ProcessTable::reaped(pid_t pid) {
  const auto at = pids_.find(pid);
  if (at == pids_.end()) return nullptr;
  const std::uint64_t key = at->second;
  pids_.erase(at);
  return find_by_key(key);
}

void ProcessTable::enforce_bounds() {
  while (ended_.size() > kMaxEnded) forget(ended_.front());
  std::size_t memory = 0;
  for (auto at = ended_.rbegin(); at != ended_.rend(); ++at) {
    SessionProcess* process = find_by_key(*at);
    memory += process->output_memory();
    if (memory > kMaxEndedOutput && !process->is_subscribed()) process->drop_output();
  }
}

void ProcessTable::handle(const wire::CloseInput& close) {
  SessionProcess* process = find(close.process);
  if (process == nullptr) return;
  process->close_input(close.stream);
  queue_for_sending(*process);
}

void ProcessTable::handle(const wire::Subscribe& subscribe) {
  SessionProcess* process = find(subscribe.process);
  if (process == nullptr) return;
  process->subscribe(subscribe);
  queue_for_sending(*process);
}

void ProcessTable::handle(const wire::Unsubscribe& unsubscribe) {
  if (SessionProcess* process = find(unsubscribe.process)) process->unsubscribe(unsubscribe.stream);
}

void ProcessTable::handle(const wire::Acknowledge& acknowledge) {
  SessionProcess* process = find(acknowledge.process);
  if (process == nullptr) return;
  process->acknowledge(acknowledge);
  queue_for_sending(*process);
}

void ProcessTable::handle(const wire::SetLossy& lossy) {
  SessionProcess* process = find(lossy.process);
  if (process == nullptr) return;
  process->set_lossy(lossy.lossy);
  queue_for_sending(*process);
}

void ProcessTable::handle(const wire::SignalProcess& signal) {
  if (SessionProcess* process = find(signal.process)) process->signal(signal.signal, signal.group);
}

void ProcessTable::handle(const wire::ResizeProcess& resize) {
  if (SessionProcess* process = find(resize.process)) process->resize(resize.size);
}

void ProcessTable::queue_for_sending(SessionProcess& process) {
  if (std::exchange(process.queued, true)) return;
  ready_.push_back(process.key());
}

std::optional<wire::SessionFrame> ProcessTable::next_frame() {
  while (!ready_.empty()) {
    SessionProcess* process = find_by_key(ready_.front());
    ready_.pop_front();
    if (process == nullptr) continue;
    process->queued = false;
    if (process->failure) continue;  // it has not started yet: when it has
    auto frame = process->next_frame();
    if (!frame) continue;
    queue_for_sending(*process);
    return frame;
  }
  return std::nullopt;
}

}  // namespace glovebox::agent
