#include "store/fair_thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace glovebox::store {
namespace {

// Waits until a time point that is too far away end at once.
constexpr std::chrono::milliseconds kNoTick = std::chrono::hours(24);

}  // namespace

FairThread::FairThread(std::size_t max_jobs, Tick tick)
    : max_jobs_(max_jobs), tick_(std::move(tick)) {
  // Signals are the server thread's business: a new thread inherits this mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void FairThread::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool FairThread::run(const std::string& owner, std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    const auto own = jobs_.find(owner);
    const std::size_t owns = own == jobs_.end() ? 0 : own->second.size();
    if (waiting_ >= max_jobs_ || owns >= (max_jobs_ + 1) / 2) return false;
    if (owns == 0) turns_.push_back(owner);
    jobs_[owner].push_back(std::move(job));
    ++waiting_;
  }
  changed_.notify_one();
  return true;
}

void FairThread::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

std::size_t FairThread::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

std::function<void()> FairThread::next_job() {
  const auto own = jobs_.find(turns_.front());
  turns_.pop_front();
  std::function<void()> job = std::move(own->second.front());
  own->second.pop_front();
  --waiting_;
  if (own->second.empty()) {
    jobs_.erase(own);
  } else {
    turns_.push_back(own->first);
  }
  return job;
}

void FairThread::loop() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_tick = Clock::now();
  std::unique_lock lock(mutex_);
  while (true) {
    // The tick before the jobs: a stream of jobs must not keep batches from being written.
    if (woken_ || Clock::now() >= next_tick) {
      woken_ = false;
      lock.unlock();
      next_tick = Clock::now() + (tick_ ? tick_() : kNoTick);
      lock.lock();
    }
    if (waiting_ > 0) {
      std::function<void()> job = next_job();
      lock.unlock();
      job();
      job = nullptr;  // what it holds is destroyed outside the lock
      lock.lock();
      continue;
    }
    if (stopping_) return;
    changed_.wait_until(lock, next_tick, [this] { return woken_ || stopping_ || waiting_ > 0; });
  }
}

}  // namespace glovebox::store
