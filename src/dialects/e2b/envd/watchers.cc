#include "dialects/e2b/envd/watchers.h"

#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <optional>

#include "base/id.h"
#include "base/utf8.h"
#include "dialects/e2b/envd/file_access.h"
#include "dialects/e2b/envd/file_entry.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "sessions/files/file_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using wire::WatchEvent;
using wire::WatchKind;

constexpr std::size_t kWatcherIdLength = 20;
// Of the entries in one response, as text; further events come without an entry.
constexpr std::size_t kMaxEntryBytes = 1024 * 1024;

struct ClientEvent {
  std::string name;  // relative to the watched directory
  std::string_view type;
  bool may_exist = false;  // it can have an entry
};

void append_events(const WatchEvent& event, std::vector<ClientEvent>& all) {
  std::string name = event.path.empty() ? "." : event.path;
  switch (event.kind) {
    case WatchKind::kCreated:
      all.push_back({std::move(name), "EVENT_TYPE_CREATE", true});
      return;
    case WatchKind::kWritten:
      all.push_back({std::move(name), "EVENT_TYPE_WRITE", true});
      return;
    case WatchKind::kRemoved:
      all.push_back({std::move(name), "EVENT_TYPE_REMOVE", false});
      return;
    case WatchKind::kRenamed:
      all.push_back({std::move(name), "EVENT_TYPE_RENAME", false});
      all.push_back({event.to, "EVENT_TYPE_CREATE", true});
      return;
    case WatchKind::kAttribute:
      all.push_back({std::move(name), "EVENT_TYPE_CHMOD", true});
      return;
    case WatchKind::kOverflow:
    case WatchKind::kReady:
      return;
  }
}

struct KnownEntry {
  std::optional<json::object> entry;  // nothing: the file is gone
  std::size_t size = 0;
};

// The file as it is now; nothing: it is gone.
asio::awaitable<std::optional<json::object>> current_entry(const Watch& watch, std::string name) {
  const std::string at = sessions::path_below(watch.at, name);
  wire::FileRequest stat = file_request(wire::FileOp::kStat, watch.user, at);
  const auto done = co_await ask_file(watch.session, std::move(stat));
  if (!done) co_return std::nullopt;
  const auto entry = sessions::entry_of(done->entry);
  if (!entry) co_return std::nullopt;
  co_return entry_json(*entry, whole_path(entry->path, watch.at));
}

}  // namespace

asio::awaitable<tl::expected<json::array, ConnectError>> take_events(Watch watch) {
  std::vector<ClientEvent> all;
  for (const WatchEvent& event : watch.feed->take()) {
    if (event.kind == WatchKind::kOverflow) {
      ConnectError lost{Code::kInternal, "watcher error: too many events, some were lost"};
      co_return tl::unexpected<ConnectError>(std::move(lost));
    }
    append_events(event, all);
  }
  json::array events;
  std::map<std::string, KnownEntry> seen;
  std::size_t entries = 0;
  for (ClientEvent& change : all) {
    json::object event{{"name", to_utf8(change.name)}, {"type", change.type}};
    if (watch.with_entries && change.may_exist && entries < kMaxEntryBytes) {
      auto known = seen.find(change.name);
      if (known == seen.end()) {
        KnownEntry one;
        one.entry = co_await current_entry(watch, change.name);
        if (one.entry) one.size = json::serialize(*one.entry).size();
        known = seen.emplace(change.name, std::move(one)).first;
      }
      entries += known->second.size;
      if (known->second.entry) event["entry"] = *known->second.entry;
    }
    events.push_back(std::move(event));
  }
  co_return events;
}

std::string Watchers::add(Watch watch) {
  const Key key{watch.session->id().str(), "w" + random_label(kWatcherIdLength)};
  watch.feed->on_end([weak = weak_from_this(), key] {
    if (const auto self = weak.lock()) self->drop_if_dead(key);
  });
  watch.feed->start();
  watches_.emplace(key, std::move(watch));
  return key.second;
}

// When the directory is gone, its last events can still be polled; when the sandbox is gone, no
// client can ask. Which of the two has happened is known only after the current handler.
void Watchers::drop_if_dead(const Key& key) {
  asio::post(io_, [weak = weak_from_this(), key] {
    const auto self = weak.lock();
    if (!self) return;
    const auto at = self->watches_.find(key);
    if (at != self->watches_.end() && !at->second.session->alive()) self->watches_.erase(at);
  });
}

const Watch* Watchers::find(std::string_view sandbox, std::string_view id) const {
  const auto at = watches_.find(Key{sandbox, id});
  return at == watches_.end() ? nullptr : &at->second;
}

bool Watchers::remove(std::string_view sandbox, std::string_view id) {
  const auto at = watches_.find(Key{sandbox, id});
  if (at == watches_.end()) return false;
  at->second.feed->close();
  watches_.erase(at);
  return true;
}

}  // namespace glovebox::e2b
