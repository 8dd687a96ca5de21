// GET /v1/sandboxes/{id}/files/watch: changes of a session's files, as server-sent events or over a
// WebSocket, until the client disconnects. The watch is opened for the request and closed with it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <span>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"

namespace glovebox::api {

class FileWatchRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    const routing::Authenticator& authenticator;
    const routing::SandboxLookup& lookup;
    const bool& is_stopping;
  };
  explicit FileWatchRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<FileWatchRoutes>> rows();

  Task<http::Response> watch_files(http::Request& request, http::ResponseWriter& writer);
  asio::awaitable<void> watch_files_stream(http::Request& request, http::RawStream& stream);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
