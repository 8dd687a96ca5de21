#include "packages/layer_request.h"

#include <boost/json.hpp>

#include "model/template_rules.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::packages {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

constexpr std::uint64_t kTenYears = 10ull * 366 * 24 * 3600;

}  // namespace

Result<LayerRequest> parse_layer_request(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  LayerRequest request;
  if (const json::value* wanted = fields.take("dependencies")) {
    TRY(request.dependencies, wire::read_dependencies(*wanted, "dependencies"));
  }
  TRY(const auto name, fields.text("template", 64));
  TRY(const auto language, fields.text("language", 32));
  TRY(const auto refresh, fields.truth("refresh"));
  TRY_OK(fields.finish());
  request.refresh = refresh.value_or(false);
  if (request.dependencies.empty())
    return fields.bad("dependencies", "must name at least one package");
  if (name && language) return fields.bad("language", "cannot be combined with template");
  if (name && !is_template_name(*name)) {
    return fields.bad("template", "must be a name of lower-case letters, digits and dashes");
  }
  if (language && *language != "python" && *language != "javascript" && *language != "node") {
    return fields.bad("language", "must be python or javascript: only those have packages");
  }
  request.template_name = name ? *name : language && *language != "python" ? "node" : "python";
  return request;
}

Result<PruneRequest> parse_prune_request(std::string_view body) {
  PruneRequest request;
  if (body.empty()) return request;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto unused, fields.whole("unused_for_s", 0, kTenYears));
  TRY(const auto dry, fields.truth("dry_run"));
  TRY_OK(fields.finish());
  request.unused_for = std::chrono::seconds(unused.value_or(0));
  request.dry_run = dry.value_or(false);
  return request;
}

}  // namespace glovebox::packages
