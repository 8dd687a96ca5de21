// Reads, writes, shows, moves, copies and removes single files of a session. The server opens none
// of them; a helper inside the sandbox does, as the user that the request names.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"

namespace glovebox::api {

class FileRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
  };
  explicit FileRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<FileRoutes>> rows();

  Task<http::Response> read_file(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> write_file(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> remove_file(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> stat_file(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> file_exists(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> make_directory(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> move_file(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> copy_file(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
