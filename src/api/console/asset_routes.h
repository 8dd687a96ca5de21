// /console: the files of the console. They need no key: they contain nothing that is not public.
// What the pages show, they ask of /v1.
#pragma once

#include <span>

#include "api/console/asset_bundle.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::api {

class ConsoleAssetRoutes {
 public:
  explicit ConsoleAssetRoutes(ConsoleBundle bundle) : bundle_(bundle) {}

  static std::span<const routing::RouteRow<ConsoleAssetRoutes>> rows();

  Task<http::Response> redirect(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> file(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> frame(http::Request& request, http::ResponseWriter& writer);

 private:
  const ConsoleBundle bundle_;
};

}  // namespace glovebox::api
