#include "client/requests/layer_options.h"

#include <boost/json.hpp>

#include "base/units.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

Result<std::int64_t> parse_unused_for(const std::string& text) {
  if (text.ends_with('d')) {
    auto hours = parse_duration(text.substr(0, text.size() - 1) + "h");
    if (!hours) {
      return fail(Errc::kInvalidArgument,
                  "--unused-for must be a time like 7d, 12h or 30m, not '" + text + "'");
    }
    return hours->count() * 24 / 1000;
  }
  auto time = parse_duration(text);
  if (!time) return fail(std::move(time.error()).context("--unused-for"));
  return time->count() / 1000;
}

}  // namespace

Result<std::string> new_layer_json(const LayerOptions& layer) {
  if (!layer.packages.names_packages()) {
    return fail(Errc::kInvalidArgument,
                "no packages given: use --with PACKAGE, --requirements FILE or --lock FILE");
  }
  TRY(const Dependencies wanted, wire::read_package_options(layer.packages));
  json::object body{{"dependencies", wire::dependencies_json(wanted)}, {"refresh", true}};
  body["template"] =
      layer.template_name.empty() ? wire::default_template(wanted) : layer.template_name;
  return json::serialize(body);
}

Result<std::string> prune_json(const LayerOptions& layer) {
  json::object body{{"dry_run", layer.dry_run}};
  if (!layer.unused_for.empty()) {
    TRY(body["unused_for_s"], parse_unused_for(layer.unused_for));
  }
  return json::serialize(body);
}

}  // namespace glovebox::client
