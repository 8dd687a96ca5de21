// One thread that runs jobs, and a tick for what is done from time to time. A job has an owner, a
// project or "" for the server itself. Owners take turns, so that one with a thousand jobs delays
// another's by one; the jobs of one owner keep their order. Not in base/, because the launcher and
// the agent have no threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace glovebox::store {

class FairThread {
 public:
  // Does what is due, and returns when it must be called again at the latest.
  using Tick = std::function<std::chrono::milliseconds()>;

  explicit FairThread(std::size_t max_jobs, Tick tick = {});
  ~FairThread() { stop(); }
  FairThread(const FairThread&) = delete;
  FairThread& operator=(const FairThread&) = delete;

  // Runs the jobs that wait, which may still call this object, then ends the thread.
  void stop();
  // False: too many wait already, in all or of this owner, which has at most half.
  bool run(const std::string& owner, std::function<void()> job);
  // The tick comes now, whatever it said the last time.
  void wake();
  std::size_t waiting() const;

 private:
  void loop();
  // Of the owner whose turn it is. There is one.
  std::function<void()> next_job();

  const std::size_t max_jobs_;
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
