// filesystem.Filesystem of E2B's agent, except for watching: Stat, ListDir, MakeDir, Move, Remove.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/e2b/agent_access.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::e2b {

class FilesystemRoutes {
 public:
  // Borrowed; outlives this.
  explicit FilesystemRoutes(AgentAccess& access) : access_(access) {}

  static std::span<const routing::RouteRow<FilesystemRoutes>> rows();

  Task<http::Response> stat(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_dir(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> make_dir(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> move(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> remove(http::Request& request, http::ResponseWriter& writer);

 private:
  AgentAccess& access_;
};

}  // namespace glovebox::e2b
