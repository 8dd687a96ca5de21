// POST /workspace/se/upload: the files of a form, each written completely or not at all, as fast as
// the sandbox takes them.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/workspace/client_sessions.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::workspace {

class UploadRoutes {
 public:
  // `clients` is borrowed and outlives this.
  explicit UploadRoutes(const ClientSessions& clients) : clients_(clients) {}

  static std::span<const routing::RouteRow<UploadRoutes>> rows();

  Task<http::Response> upload_file(http::Request& request, http::ResponseWriter& writer);

 private:
  const ClientSessions& clients_;
};

}  // namespace glovebox::workspace
