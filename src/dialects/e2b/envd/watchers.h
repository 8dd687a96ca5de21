// Watches that a client polls: CreateWatcher adds one, GetWatcherEvents empties it, and it ends
// with RemoveWatcher or with its sandbox. The node bounds how many a sandbox has, WatchFeed how
// much one holds.
#pragma once

#include <boost/json/fwd.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"
#include "dialects/e2b/envd/connect.h"
#include "node/sessions/session_service.h"
#include "sessions/files/watch_feed.h"

namespace glovebox::e2b {

// One watched directory, streamed or polled.
struct Watch {
  std::shared_ptr<node::Session> session;
  std::shared_ptr<sessions::WatchFeed> feed;
  std::string user;
  std::string at;  // the path as the sandbox resolves it
  bool with_entries = false;
};

// The pending events in E2B's form. A failure: some were lost.
asio::awaitable<tl::expected<boost::json::array, ConnectError>> take_events(Watch watch);

class Watchers : public std::enable_shared_from_this<Watchers> {
 public:
  explicit Watchers(asio::io_context& io) : io_(io) {}

  // Starts reading its events; returns its id.
  std::string add(Watch watch);
  const Watch* find(std::string_view sandbox, std::string_view id) const;
  bool remove(std::string_view sandbox, std::string_view id);
  // How many there are.
  std::size_t size() const { return watches_.size(); }

 private:
  using Key = std::pair<std::string, std::string>;  // sandbox, id
  void drop_if_dead(const Key& key);

  asio::io_context& io_;
  std::map<Key, Watch> watches_;
};

}  // namespace glovebox::e2b
