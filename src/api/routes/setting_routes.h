// GET /v1/settings: the settings that this server runs with, and where each comes from.
#pragma once

#include <span>

#include "config/load.h"
#include "http/message.h"
#include "routing/route_table.h"

namespace glovebox::api {

class SettingRoutes {
 public:
  // Borrowed; outlives this.
  struct Dependencies {
    const config::SettingTable& settings;
  };
  explicit SettingRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SettingRoutes>> rows();

  Task<http::Response> list_settings(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
