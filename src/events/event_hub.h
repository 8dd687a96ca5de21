// Publishes events to subscribers (GET /v1/events): each sees its own project. A slow subscriber
// never blocks the publisher: its queue is bounded, and when it is full the oldest events are
// dropped and counted. What can be replayed is shared fairly: when it is full, the project with
// most events in it loses its oldest. So are the places for subscribers: a project may have as many
// as are free.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::events {

struct Event {
  std::uint64_t id = 0;  // grows; the SSE id
  std::string project;   // empty: for all projects
  std::string type;      // "run.finished"
  std::string data;      // a JSON object
};

class EventHub {
 public:
  static constexpr std::size_t kRing = 512;   // events that can be replayed
  static constexpr std::size_t kQueue = 256;  // events that wait for one listener
  static constexpr std::size_t kListeners = 256;
  static constexpr std::size_t kListenersPerKey = 16;

  class Subscription;

  explicit EventHub(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  void publish(std::string project, std::string type, std::string data);

  // `project`: empty for all projects. With `after`, later events in the ring are replayed first.
  // Null: too many listeners of the project or of all, or the hub is closed. `key` is the API key
  // of the listener.
  std::unique_ptr<Subscription> subscribe(std::string project, std::optional<std::uint64_t> after,
                                          std::string key = {});

  // The newest `count` of a project in the ring, oldest first. Empty project: of all.
  std::vector<Event> recent(std::string_view project, std::size_t count) const;

  // Ends every subscription, when the server stops.
  void close();
  std::size_t subscribers() const { return listeners_->size(); }
  std::size_t subscribers_of(std::string_view key) const;

 private:
  boost::asio::any_io_executor executor_;
  void make_room();
  std::deque<Event> ring_;
  std::map<std::string, std::size_t> in_ring_;  // how many, by project
  // Shared, because a subscription may outlive the hub.
  using Listeners = std::list<Subscription*>;
  std::shared_ptr<Listeners> listeners_ = std::make_shared<Listeners>();
  std::uint64_t last_id_ = 0;
  bool closed_ = false;
};

class EventHub::Subscription {
 public:
  Subscription(EventHub& hub, std::string project, std::string key);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  enum class Wake : std::uint8_t { kEvents, kNothing, kClosed };
  // Returns when there are events, after `patience`, or when this is closed.
  boost::asio::awaitable<Wake> wait(std::chrono::milliseconds patience);
  std::deque<Event> take();
  // How many events were dropped since the last call.
  std::uint64_t take_lost();
  void close();

 private:
  friend class EventHub;
  bool wants(const Event& event) const;
  void offer(const Event& event);

  std::shared_ptr<Listeners> listeners_;
  Listeners::iterator place_;
  std::string project_;
  std::string key_;
  std::deque<Event> queue_;
  std::uint64_t lost_ = 0;
  bool closed_ = false;
  boost::asio::steady_timer timer_;
};

}  // namespace glovebox::events
