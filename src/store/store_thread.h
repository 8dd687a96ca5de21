// The one thread on which everything of the database happens: jobs in the order they came, and a
// tick for what is done from time to time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "store/callback.h"

namespace glovebox::store {

class StoreThread {
 public:
  // Does what is due, and returns when it must be called again at the latest.
  using Tick = std::function<std::chrono::milliseconds()>;

  StoreThread(std::size_t max_jobs, Post post, Tick tick);
  ~StoreThread() { stop(); }
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  // Runs the jobs that wait, which may still call this object, then ends the thread.
  void stop();
  // False: too many wait already.
  bool run(std::function<void()> job);
  // The tick comes now, whatever it said the last time.
  void wake();
  std::size_t waiting() const;

  // Runs `work` on this thread and hands its result to `done` on the asker's.
  template <class T>
  void ask(std::function<Result<T>()> work, Callback<T> done) {
    const bool taken = run([this, work = std::move(work), done] { answer<T>(done, work()); });
    if (!taken) {
      answer<T>(done, fail(Errc::kResourceExhausted, "store: too many requests are waiting"));
    }
  }

  template <class T>
  void answer(const Callback<T>& done, Result<T> result) {
    if (!done) return;
    if (!post_) return done(std::move(result));
    // Shared, because a std::function must be copyable and a result is best moved.
    auto held = std::make_shared<Result<T>>(std::move(result));
    post_([done, held] { done(std::move(*held)); });
  }

 private:
  void loop();

  const std::size_t max_jobs_;
  const Post post_;
  const Tick tick_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool woken_ = true;  // the first tick comes at once
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace glovebox::store
