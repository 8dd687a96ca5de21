#include "sessions/processes/input_pump.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

namespace glovebox::sessions {

InputPump::InputPump(asio::io_context& io, std::shared_ptr<node::Session> session,
                     wire::ProcessNumber process)
    : io_(io), session_(std::move(session)), process_(process) {}

asio::awaitable<InputPump::Pushed> InputPump::push(std::string bytes, Deadline deadline) {
  const auto self = shared_from_this();
  const std::uint64_t releases = releases_;
  while (held_ >= kMaxHeld && !is_closed_ && releases == releases_ &&
         std::chrono::steady_clock::now() < deadline) {
    co_await wait_for_change(deadline);
  }
  if (is_closed_ || wants_close_) co_return Pushed::kClosed;
  if (held_ >= kMaxHeld) co_return Pushed::kNoRoom;
  if (!bytes.empty()) {
    held_ += bytes.size();
    pieces_.push_back(std::move(bytes));
    start();
  }
  co_return Pushed::kTaken;
}

void InputPump::close_input() {
  if (is_closed_ || wants_close_) return;
  wants_close_ = true;
  start();
}

asio::awaitable<bool> InputPump::drained(Deadline deadline) {
  const auto self = shared_from_this();
  while (is_pumping_ && std::chrono::steady_clock::now() < deadline) {
    co_await wait_for_change(deadline);
  }
  co_return !is_pumping_ && (!is_closed_ || wants_close_);
}

void InputPump::release() {
  ++releases_;
  changed();
}

void InputPump::start() {
  if (is_pumping_) return;
  is_pumping_ = true;
  auto self = shared_from_this();
  asio::co_spawn(io_, pump(), [self](const std::exception_ptr& thrown) {
    if (!thrown) return;
    self->is_closed_ = true;
    self->is_pumping_ = false;
    self->changed();
  });
}

asio::awaitable<void> InputPump::pump() {
  while (!pieces_.empty()) {
    std::string piece = std::move(pieces_.front());
    pieces_.pop_front();
    const std::size_t size = piece.size();
    const auto written =
        co_await session_->write_input(process_, wire::Stream::kStdin, std::move(piece));
    held_ -= size;
    if (!written) {
      is_closed_ = true;
      wants_close_ = false;
      pieces_.clear();
      held_ = 0;
    }
    changed();
  }
  if (wants_close_ && !is_closed_) {
    (void)co_await session_->close_input(process_, wire::Stream::kStdin);
    is_closed_ = true;
  }
  // Here and not when the coroutine is destroyed: input that arrives in between starts a new one.
  is_pumping_ = false;
  changed();
}

asio::awaitable<void> InputPump::wait_for_change(Deadline deadline) {
  asio::steady_timer timer(io_, deadline);
  waiting_.insert(&timer);
  struct Registration {
    InputPump& pump;
    asio::steady_timer& timer;
    ~Registration() { pump.waiting_.erase(&timer); }
  } registration{*this, timer};
  co_await timer.async_wait(kAwaitTuple);
}

void InputPump::changed() {
  for (asio::steady_timer* timer : waiting_) timer->cancel();
}

std::shared_ptr<InputPump> InputPumps::of(const std::shared_ptr<node::Session>& session,
                                          wire::ProcessNumber process) {
  constexpr std::size_t kMany = 64;
  if (pumps_.size() >= kMany) {
    std::erase_if(pumps_, [](const auto& one) { return one.second.expired(); });
  }
  std::weak_ptr<InputPump>& known = pumps_[{session->id(), process}];
  auto pump = known.lock();
  if (!pump) {
    pump = std::make_shared<InputPump>(io_, session, process);
    known = pump;
  }
  return pump;
}

}  // namespace glovebox::sessions
