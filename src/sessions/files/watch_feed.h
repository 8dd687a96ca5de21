// Buffers the events of watched files between the sandbox and a client that may be slow. The number
// and size of buffered events are bounded. While the buffer is full the feed does not read from the
// sandbox, whose kernel reports lost events.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "node/sessions/session_service.h"
#include "wire/guest/file_records.h"

namespace glovebox::sessions {

class WatchFeed : public std::enable_shared_from_this<WatchFeed> {
 public:
  WatchFeed(asio::io_context& io, std::unique_ptr<node::FileTransfer> transfer);

  void start();  // reads until close() or the end of the watch
  // Called on the server's thread when the sandbox ends the watch. Set it before start().
  void on_end(std::function<void()> call) { on_end_ = std::move(call); }
  // Waits until there is an event to take, the watch has ended, or `at_most` has passed.
  asio::awaitable<void> wait(std::chrono::milliseconds at_most);
  // Waits until the events of everything that happened before this call can be taken. Gives up
  // after `at_most`, when the watch has ended, or when the buffer is full.
  asio::awaitable<void> settle(std::chrono::milliseconds at_most);
  std::vector<wire::WatchEvent> take();
  bool ended() const { return closed_ || (ended_ && events_.empty()); }
  void close();
  void wake() { changed_.cancel(); }

 private:
  asio::awaitable<void> read();
  Result<> keep(std::string_view bytes);
  bool is_full() const;
  void wake_settling();

  asio::io_context& io_;
  const std::unique_ptr<node::FileTransfer> transfer_;
  wire::RecordReader reader_;
  std::deque<wire::WatchEvent> events_;
  std::size_t bytes_ = 0;  // of their paths
  std::function<void()> on_end_;
  asio::steady_timer changed_;
  asio::steady_timer taken_;
  std::uint64_t marks_asked_ = 1;  // the sandbox sends the first one by itself
  std::uint64_t marks_seen_ = 0;
  std::vector<asio::steady_timer*> settling_;
  bool ended_ = false;
  bool closed_ = false;
};

// A name such as "created". Paths are relative to the watched directory.
std::string_view watch_event_name(wire::WatchKind kind);
// {"path", "directory"} and, for a rename, "to".
std::string watch_json(const wire::WatchEvent& event, const std::string& watched);
// The same with its "type", for a WebSocket.
std::string watch_message(const wire::WatchEvent& event, const std::string& watched);

}  // namespace glovebox::sessions
