// The one thread on which everything of the database happens, and answers that go back to the
// asker's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "store/callback.h"
#include "store/fair_thread.h"

namespace glovebox::store {

class StoreThread : public FairThread {
 public:
  StoreThread(std::size_t max_jobs, Post post, Tick tick)
      : FairThread(max_jobs, std::move(tick)), post_(std::move(post)) {}
  ~StoreThread() { stop(); }  // its jobs use post_

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
  const Post post_;
};

}  // namespace glovebox::store
