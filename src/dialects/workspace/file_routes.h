// Downloads and listings of /workspace/se: files below /home/user, by names that the client gives.
// A helper inside the sandbox opens them; the server does not.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/workspace/client_sessions.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::workspace {

class FileRoutes {
 public:
  // `clients` is borrowed and outlives this.
  explicit FileRoutes(const ClientSessions& clients) : clients_(clients) {}

  static std::span<const routing::RouteRow<FileRoutes>> rows();

  Task<http::Response> download_file(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_files(http::Request& request, http::ResponseWriter& writer);

 private:
  const ClientSessions& clients_;
};

}  // namespace glovebox::workspace
