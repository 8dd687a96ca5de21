#include "events/event_hub.h"

#include <algorithm>
#include <utility>

#include "base/task.h"

namespace glovebox::events {

void EventHub::publish(std::string project, std::string type, std::string data) {
  Event event{.id = ++last_id_,
              .project = std::move(project),
              .type = std::move(type),
              .data = std::move(data)};
  for (Subscription* listener : *listeners_) listener->offer(event);
  ++in_ring_[event.project];
  ring_.push_back(std::move(event));
  if (ring_.size() > kRing) make_room();
}

void EventHub::make_room() {
  const auto most = std::max_element(
      in_ring_.begin(), in_ring_.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  const auto oldest = std::find_if(ring_.begin(), ring_.end(), [&most](const Event& event) {
    return event.project == most->first;
  });
  ring_.erase(oldest);
  if (--most->second == 0) in_ring_.erase(most);
}

std::unique_ptr<EventHub::Subscription> EventHub::subscribe(std::string project,
                                                            std::optional<std::uint64_t> after,
                                                            std::string key) {
  const auto of_project = static_cast<std::size_t>(
      std::count_if(listeners_->begin(), listeners_->end(),
                    [&](const Subscription* other) { return other->project_ == project; }));
  if (closed_ || of_project + listeners_->size() >= kListeners) return nullptr;
  auto subscription = std::make_unique<Subscription>(*this, std::move(project), std::move(key));
  if (after) {
    // Ids restart with the server: an id above last_id_ comes from a previous server.
    const bool ours = *after <= last_id_;
    for (const Event& event : ring_) {
      if (!ours || event.id > *after) subscription->offer(event);
    }
  }
  return subscription;
}

std::vector<Event> EventHub::recent(std::string_view project, std::size_t count) const {
  std::vector<Event> found;
  for (auto event = ring_.rbegin(); event != ring_.rend() && found.size() < count; ++event) {
    if (project.empty() || event->project.empty() || event->project == project) {
      found.push_back(*event);
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::size_t EventHub::subscribers_of(std::string_view key) const {
  return static_cast<std::size_t>(
      std::count_if(listeners_->begin(), listeners_->end(),
                    [&](const Subscription* listener) { return listener->key_ == key; }));
}

void EventHub::close() {
  closed_ = true;
  for (Subscription* listener : *listeners_) listener->close();
}

EventHub::Subscription::Subscription(EventHub& hub, std::string project, std::string key)
    : listeners_(hub.listeners_),
      place_(listeners_->insert(listeners_->end(), this)),
      project_(std::move(project)),
      key_(std::move(key)),
      timer_(hub.executor_) {}

EventHub::Subscription::~Subscription() { listeners_->erase(place_); }

bool EventHub::Subscription::wants(const Event& event) const {
  return project_.empty() || event.project.empty() || event.project == project_;
}

void EventHub::Subscription::offer(const Event& event) {
  if (!wants(event)) return;
  queue_.push_back(event);
  if (queue_.size() > kQueue) {
    queue_.pop_front();
    ++lost_;
  }
  timer_.cancel();
}

boost::asio::awaitable<EventHub::Subscription::Wake> EventHub::Subscription::wait(
    std::chrono::milliseconds patience) {
  if (queue_.empty() && !closed_) {
    timer_.expires_after(patience);
    co_await timer_.async_wait(kAwaitTuple);
  }
  if (closed_) co_return Wake::kClosed;
  co_return queue_.empty() ? Wake::kNothing : Wake::kEvents;
}

std::deque<Event> EventHub::Subscription::take() { return std::exchange(queue_, {}); }
std::uint64_t EventHub::Subscription::take_lost() { return std::exchange(lost_, 0); }

void EventHub::Subscription::close() {
  closed_ = true;
  timer_.cancel();
}

}  // namespace glovebox::events
