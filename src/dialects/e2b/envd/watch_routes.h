// filesystem.Filesystem of E2B's agent, watching: changes of files as a stream, or polled.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <span>

#include "base/task.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/envd/watchers.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::e2b {

class WatchRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    AgentAccess& access;
    Watchers& watchers;
    const bool& is_stopping;  // the server
  };
  explicit WatchRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<WatchRoutes>> rows();

  Task<http::Response> watch_dir(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> create_watcher(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_watcher_events(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> remove_watcher(http::Request& request, http::ResponseWriter& writer);

 private:
  struct Schedule;  // of a stream: when to send a keepalive, and when to end

  // The watch is active when this returns.
  asio::awaitable<tl::expected<Watch, ConnectError>> open_watch(
      std::shared_ptr<node::Session> session, const http::Request& request);
  // Until the watch or its client ends. An error: the stream is cut, because the sandbox or the
  // server stops.
  Task<> send_changes(Watch watch, Schedule schedule, MessageStream& stream);

  const Dependencies deps_;
};

}  // namespace glovebox::e2b
