// Watches that a client polls: CreateWatcher makes one, GetWatcherEvents empties it, and it goes
// with RemoveWatcher or with its sandbox. How many a sandbox has is the node's to bound, how much
// one holds is WatchFeed's.
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

// One watched directory, whoever is told of it.
struct Watch {
  std::shared_ptr<node::Session> session;
  std::shared_ptr<sessions::WatchFeed> feed;
  std::string user;
  std::string at;  // as the sandbox takes it
  bool with_entries = false;
};

// The events that are there, as clients know them. A failure: some were lost.
asio::awaitable<tl::expected<boost::json::array, Failure>> take_events(Watch watch);

class Watchers : public std::enable_shared_from_this<Watchers> {
 public:
  explicit Watchers(asio::io_context& io) : io_(io) {}

  // Begins to read it.
  std::string add(Watch watch);
  const Watch* find(std::string_view sandbox, std::string_view id) const;
  bool remove(std::string_view sandbox, std::string_view id);
  std::size_t size() const { return watches_.size(); }

 private:
  using Key = std::pair<std::string, std::string>;  // sandbox, id
  void drop_if_dead(const Key& key);

  asio::io_context& io_;
  std::map<Key, Watch> watches_;
};

}  // namespace glovebox::e2b
