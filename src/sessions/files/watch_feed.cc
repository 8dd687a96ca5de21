#include "sessions/files/watch_feed.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <utility>

#include "sessions/files/file_json.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

constexpr std::size_t kKeptEvents = 4096;
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;
constexpr std::size_t kWatchBuffer = 64 * 1024;

json::object object_of(const wire::WatchEvent& event, const std::string& watched) {
  json::object object;
  add_path(object, "path", path_below(watched, event.path));
  if (event.kind == wire::WatchKind::kRenamed) {
    add_path(object, "to", path_below(watched, event.to));
  }
  object["directory"] = event.directory;
  return object;
}

}  // namespace

WatchFeed::WatchFeed(asio::io_context& io, std::unique_ptr<node::FileTransfer> transfer)
    : io_(io), transfer_(std::move(transfer)), changed_(io), taken_(io) {}

void WatchFeed::start() {
  auto reading = [self = shared_from_this()]() -> asio::awaitable<void> { co_await self->read(); };
  asio::co_spawn(io_, std::move(reading), asio::detached);
}

asio::awaitable<void> WatchFeed::read() {
  std::string buffer(kWatchBuffer, '\0');
  while (!closed_) {
    const std::size_t got = co_await transfer_->read_some(buffer.data(), buffer.size());
    if (got == 0 || closed_) break;
    if (!keep({buffer.data(), got})) break;
    changed_.cancel();
    wake_settling();
    while (is_full() && !closed_) {
      taken_.expires_after(std::chrono::hours(1));
      (void)co_await taken_.async_wait(kAwaitTuple);
    }
  }
  ended_ = true;
  changed_.cancel();
  wake_settling();
  if (on_end_) on_end_();
}

bool WatchFeed::is_full() const { return events_.size() >= kKeptEvents || bytes_ >= kKeptBytes; }

void WatchFeed::wake_settling() {
  for (asio::steady_timer* timer : settling_) timer->cancel();
}

asio::awaitable<void> WatchFeed::settle(std::chrono::milliseconds at_most) {
  if (ended_ || closed_) co_return;
  const auto self = shared_from_this();
  const std::uint64_t mark = ++marks_asked_;
  transfer_->mark();
  asio::steady_timer timer(io_);
  settling_.push_back(&timer);
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  while (marks_seen_ < mark && !ended_ && !closed_ && !is_full() &&
         std::chrono::steady_clock::now() < deadline) {
    timer.expires_at(deadline);
    (void)co_await timer.async_wait(kAwaitTuple);
  }
  std::erase(settling_, &timer);
}

Result<> WatchFeed::keep(std::string_view bytes) {
  reader_.add(bytes);
  while (true) {
    TRY(const std::optional<std::string> record, reader_.next());
    if (!record) return {};
    TRY(wire::WatchEvent event, wire::decode_watch_event(*record));
    if (event.kind == wire::WatchKind::kReady && marks_seen_++ > 0) continue;
    bytes_ += event.path.size() + event.to.size();
    events_.push_back(std::move(event));
  }
}

asio::awaitable<void> WatchFeed::wait(std::chrono::milliseconds at_most) {
  if (!events_.empty() || ended_ || closed_) co_return;
  changed_.expires_after(at_most);
  (void)co_await changed_.async_wait(kAwaitTuple);
}

std::vector<wire::WatchEvent> WatchFeed::take() {
  std::vector<wire::WatchEvent> events(std::make_move_iterator(events_.begin()),
                                       std::make_move_iterator(events_.end()));
  events_.clear();
  bytes_ = 0;
  taken_.cancel();
  return events;
}

void WatchFeed::close() {
  closed_ = true;
  transfer_->close();
  taken_.cancel();
  changed_.cancel();
  wake_settling();
}

std::string_view watch_event_name(wire::WatchKind kind) {
  switch (kind) {
    case wire::WatchKind::kCreated:
      return "created";
    case wire::WatchKind::kWritten:
      return "written";
    case wire::WatchKind::kRemoved:
      return "removed";
    case wire::WatchKind::kRenamed:
      return "renamed";
    case wire::WatchKind::kAttribute:
      return "attribute";
    case wire::WatchKind::kOverflow:
      return "overflow";
    case wire::WatchKind::kReady:
      return "ready";
  }
  return "overflow";
}

std::string watch_json(const wire::WatchEvent& event, const std::string& watched) {
  return json::serialize(object_of(event, watched));
}

std::string watch_message(const wire::WatchEvent& event, const std::string& watched) {
  json::object object{{"type", watch_event_name(event.kind)}};
  for (auto& [name, value] : object_of(event, watched)) object[name] = std::move(value);
  return json::serialize(object);
}

}  // namespace glovebox::sessions
