#include "packages/builds/build_deadline.h"

#include <utility>
#include <vector>

namespace glovebox::packages {

BuildDeadline::BuildDeadline(boost::asio::io_context& io, Clock::time_point deadline,
                             std::shared_ptr<node::CancelFlag> cancel)
    : state_(std::make_shared<State>(io)), cancel_(std::move(cancel)) {
  state_->is_late = Clock::now() >= deadline;
  if (cancel_) {
    state_->is_cancelled = cancel_->cancelled();
    cancel_->on_cancel([state = state_] {
      state->is_cancelled = true;
      state->end();
    });
  }
  state_->timer.expires_at(deadline);
  state_->timer.async_wait([state = state_](const boost::system::error_code& error) {
    if (error) return;
    state->is_late = true;
    state->end();
  });
}

BuildDeadline::~BuildDeadline() {
  state_->timer.cancel();
  if (cancel_) cancel_->on_cancel({});
}

void BuildDeadline::State::end() {
  // Each is called once, even if it changes the list.
  std::vector<std::function<void()>> calls;
  for (std::function<void()>& one : cuts) calls.push_back(std::exchange(one, {}));
  for (const std::function<void()>& call : calls) {
    if (call) call();
  }
}

Result<> BuildDeadline::verdict() const {
  if (state_->is_cancelled) return fail(Errc::kUnavailable, "the build was cancelled");
  if (state_->is_late) {
    return fail(Errc::kTimeout, "the build exceeded its time limit (deps.build_timeout)");
  }
  return {};
}

Error BuildDeadline::reason(Error error) const {
  Result<> judged = verdict();
  return judged ? std::move(error) : std::move(judged.error());
}

BuildDeadline::Cut::Cut(BuildDeadline& watch, std::function<void()> end)
    : state_(watch.state_), cuts_(&watch.state_->cuts) {
  const bool is_over = watch.state_->is_over();
  at_ = cuts_->insert(cuts_->end(), is_over ? nullptr : end);
  if (is_over) end();
}

BuildDeadline::Cut::~Cut() { cuts_->erase(at_); }

}  // namespace glovebox::packages
