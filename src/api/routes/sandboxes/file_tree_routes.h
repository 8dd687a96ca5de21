// Lists, packs and unpacks trees of a session's files. Trees of any size are streamed in pieces.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"

namespace glovebox::api {

class FileTreeRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
  };
  explicit FileTreeRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<FileTreeRoutes>> rows();

  Task<http::Response> list_files(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> read_tar(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> write_tar(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
