// The one thread on which everything of the database happens: jobs, and a tick for what is done
// from time to time. A job has an owner, a project or "" for the server itself. Owners take turns,
// so that one with a thousand jobs delays another's by one; the jobs of one owner keep their order.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
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
  // False: too many wait already, in all or of this owner, which has at most half.
  bool run(const std::string& owner, std::function<void()> job);
  // The tick comes now, whatever it said the last time.
  void wake();
  std::size_t waiting() const;

  // Runs `work` on this thread and hands its result to `done` on the asker's.
  template <class T>
  void ask(const std::string& owner, std::function<Result<T>()> work, Callback<T> done) {
    const bool taken =
        run(owner, [this, work = std::move(work), done] { answer<T>(done, work()); });
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
  // Of the owner whose turn it is. There is one.
  std::function<void()> next_job();

  const std::size_t max_jobs_;
  const Post post_;
  const Tick tick_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::deque<std::function<void()>>> jobs_;  // by owner; none is empty
  std::deque<std::string> turns_;                                  // the owners in jobs_
  std::size_t waiting_ = 0;
  bool woken_ = true;  // the first tick comes at once
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace glovebox::store
