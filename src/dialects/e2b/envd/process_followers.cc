#include "dialects/e2b/envd/process_followers.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <utility>

#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/envd/process_json.h"

namespace glovebox::e2b {
namespace {

using Clock = std::chrono::steady_clock;
using node::Attachment;

// How long a sandbox may be paused before its streams are cut.
constexpr std::chrono::seconds kPauseCheckInterval{1};
constexpr std::chrono::milliseconds kFullCheckInterval{200};
// How long followers wait for one that reads nothing.
constexpr std::chrono::seconds kSlowFollowerPatience{5};

}  // namespace

Follower::Follower(std::shared_ptr<ProcessFollowers> process)
    : process_(std::move(process)), notifier_(process_->io_) {
  process_->add(*this);
}

Follower::~Follower() { process_->remove(*this); }

asio::awaitable<Follower::Event> Follower::next(Deadline deadline) {
  while (true) {
    if (left_) co_return Left{};
    if (is_dropped_) co_return TooSlow{};
    if (!messages_.empty()) {
      Message message = std::move(messages_.front());
      messages_.pop_front();
      held_ -= message.bytes->size();
      if (full_since_) full_since_ = Clock::now();
      if (held_ < ProcessFollowers::kMaxHeld) full_since_.reset();
      process_->changed_.notify_all();
      co_return message;
    }
    if (process_->last_event_) co_return *process_->last_event_;
    if (Clock::now() >= deadline) co_return Nothing{};
    co_await notifier_.wait(deadline);
  }
}

void Follower::leave() {
  left_ = true;
  notifier_.notify_all();
}

ProcessFollowers::ProcessFollowers(asio::io_context& io, std::shared_ptr<node::Session> session,
                                   const node::ProcessInfo& info, std::string tag)
    : io_(io),
      session_(std::move(session)),
      number_(info.number),
      pid_(info.pid),
      tag_(std::move(tag)),
      terminal_(info.terminal),
      changed_(io) {}

std::shared_ptr<Follower> ProcessFollowers::follow(std::unique_ptr<Attachment> attachment) {
  if (followers_.size() >= kMaxFollowers) return nullptr;
  if (attachment) attachment_ = std::move(attachment);
  return std::make_shared<Follower>(shared_from_this());
}

void ProcessFollowers::add(Follower& follower) {
  followers_.push_back(&follower);
  if (is_reading_ || (last_event_ && std::holds_alternative<Follower::Ended>(*last_event_))) return;
  last_event_.reset();
  start_reading();
}

void ProcessFollowers::remove(Follower& follower) {
  std::erase(followers_, &follower);
  changed_.notify_all();
  if (!followers_.empty() || !attachment_ || last_event_) return;
  is_detached_ = true;
  attachment_->close();
}

void ProcessFollowers::start_reading() {
  is_reading_ = true;
  auto self = shared_from_this();
  asio::co_spawn(io_, read(), [self](const std::exception_ptr& thrown) {
    if (!thrown) return;
    self->stop(Follower::Cut{"the output could not be read"});
    self->attachment_.reset();
    self->is_reading_ = false;
    self->changed_.notify_all();
  });
}

asio::awaitable<void> ProcessFollowers::read() {
  while (!followers_.empty() && !last_event_) {
    if (!attachment_ && !co_await attach()) break;
    if (is_full()) {
      co_await changed_.wait(Clock::now() + kFullCheckInterval);
      check_while_full();
      continue;
    }
    Attachment::Event event = co_await attachment_->next(Clock::now() + kPauseCheckInterval);
    on_event(std::move(event));
  }
  attachment_.reset();
  // From here on the output is not read, and the process must not block on it.
  const bool ended = last_event_ && std::holds_alternative<Follower::Ended>(*last_event_);
  const bool taken = last_event_ && std::holds_alternative<Follower::TakenOver>(*last_event_);
  if (!ended && !taken) (void)session_->set_lossy(number_, true);
  // Here and not at the end of the coroutine: a follower that comes in between starts another one.
  is_reading_ = false;
  changed_.notify_all();
}

asio::awaitable<bool> ProcessFollowers::attach() {
  constexpr std::uint64_t kNow = node::AttachFrom::kNow;
  const node::AttachFrom now{.out = kNow, .err = kNow, .results = kNow};
  (void)session_->set_lossy(number_, false);
  auto attached = co_await session_->attach(number_, now);
  if (!attached) {
    stop(Follower::Cut{attached.error().message()});
    co_return false;
  }
  is_detached_ = false;
  attachment_ = std::move(*attached);
  co_return true;
}

void ProcessFollowers::on_event(Attachment::Event event) {
  if (const auto* chunk = std::get_if<Attachment::Chunk>(&event)) return queue(*chunk);
  if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
    return stop(Follower::Ended{exited->end});
  }
  if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
    attachment_.reset();
    if (std::exchange(is_detached_, false)) return;
    const bool taken = session_->alive() && gone->taken_over;
    return stop(taken ? Follower::Event(Follower::TakenOver{}) : Follower::Cut{gone->why});
  }
  if (session_->paused()) stop(Follower::Cut{"the sandbox is paused"});
}

void ProcessFollowers::queue(const Attachment::Chunk& chunk) {
  if (chunk.stream == wire::Stream::kResults) return;
  const std::string_view name =
      terminal_ ? "pty" : (chunk.stream == wire::Stream::kStderr ? "stderr" : "stdout");
  const auto bytes =
      std::make_shared<const std::string>(envelope(data_event(name, chunk.bytes), 0));
  for (Follower* follower : followers_) {
    if (follower->left_ || follower->is_dropped_) continue;
    follower->messages_.push_back({bytes});
    follower->held_ += bytes->size();
    if (follower->held_ >= kMaxHeld && !follower->full_since_) {
      follower->full_since_ = Clock::now();
    }
    follower->notifier_.notify_all();
  }
}

void ProcessFollowers::stop(Follower::Event last_event) {
  last_event_ = std::move(last_event);
  for (Follower* follower : followers_) follower->notifier_.notify_all();
}

bool ProcessFollowers::is_full() const {
  return std::any_of(followers_.begin(), followers_.end(), [](const Follower* follower) {
    return !follower->left_ && follower->full_since_.has_value();
  });
}

// While nothing is read, the end of the sandbox is not reported.
void ProcessFollowers::check_while_full() {
  if (!session_->alive()) return stop(Follower::Cut{"the sandbox has ended"});
  if (session_->paused()) return stop(Follower::Cut{"the sandbox is paused"});
  const bool others_wait =
      std::any_of(followers_.begin(), followers_.end(), [](const Follower* follower) {
        return !follower->left_ && !follower->is_dropped_ && !follower->full_since_;
      });
  if (!others_wait) return;
  const Clock::time_point now = Clock::now();
  for (Follower* follower : followers_) {
    if (!follower->full_since_) continue;
    if (!drops_slow_followers_ && now - *follower->full_since_ < kSlowFollowerPatience) continue;
    follower->is_dropped_ = true;
    follower->full_since_.reset();
    follower->messages_.clear();
    follower->held_ = 0;
    follower->notifier_.notify_all();
  }
}

void ProcessFollowers::drop_slow_followers() {
  drops_slow_followers_ = true;
  changed_.notify_all();
}

asio::awaitable<void> ProcessFollowers::wait_until_unread() {
  const auto self = shared_from_this();
  while (is_reading_) co_await changed_.wait(Clock::time_point::max());
}

}  // namespace glovebox::e2b
