// GET and POST /files of E2B's agent: the bytes of a file, and uploads of files.
#pragma once

#include <span>

#include "base/task.h"
#include "dialects/e2b/envd/signature.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::e2b {

class FileRoutes {
 public:
  // Borrowed; outlives this.
  explicit FileRoutes(SignedFileAccess& access) : access_(access) {}

  static std::span<const routing::RouteRow<FileRoutes>> rows();

  Task<http::Response> download(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> upload(http::Request& request, http::ResponseWriter& writer);

 private:
  SignedFileAccess& access_;
};

}  // namespace glovebox::e2b
