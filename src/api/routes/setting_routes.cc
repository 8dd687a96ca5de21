#include "api/routes/setting_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/utf8.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;

std::span<const routing::RouteRow<SettingRoutes>> SettingRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<SettingRoutes> kRows[] = {
      {Method::kGet, "/v1/settings", routing::Access::kAdmin, &SettingRoutes::list_settings,
       "List the settings of the server and where they come from"},
  };
  return kRows;
}

// No setting is a secret: keys and passwords are in files that settings name.
Task<Response> SettingRoutes::list_settings(Request&, ResponseWriter&) {
  namespace json = boost::json;
  json::array settings;
  for (const config::SettingValue& setting : deps_.settings) {
    settings.push_back(json::object{{"name", setting.key->name},
                                    {"value", to_utf8(setting.text)},
                                    {"default", setting.key->default_text},
                                    {"origin", to_utf8(setting.origin)},
                                    {"help", setting.key->help}});
  }
  const json::object body{{"settings", std::move(settings)}};
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
