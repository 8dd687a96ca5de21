#include "api/routes/key_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"
#include "store/store_call.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

Result<store::KeyLimits> read_limits(const json::value& value) {
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(value, "limits"));
  store::KeyLimits limits;
  TRY(const auto in_flight, fields.whole("max_in_flight", 0, 1'000'000));
  TRY(const auto per_minute, fields.whole("runs_per_minute", 0, 10'000'000));
  TRY(const auto memory_mb, fields.whole("max_memory_mb", 0, 1ull << 30));
  TRY_OK(fields.finish());
  limits.max_in_flight = static_cast<std::uint32_t>(in_flight.value_or(0));
  limits.runs_per_minute = static_cast<std::uint32_t>(per_minute.value_or(0));
  limits.max_memory_bytes = memory_mb.value_or(0) << 20;
  return limits;
}

Result<store::NewKey> read_new_key(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  store::NewKey key;
  TRY(const auto project, fields.text("project", 63));
  TRY(const auto name, fields.text("name", 100));
  TRY(const auto role, fields.text("role", 16));
  if (role && *role != "user" && *role != "admin") {
    return fields.bad("role", "must be user or admin");
  }
  if (const json::value* limits = fields.take("limits")) {
    TRY(key.limits, read_limits(*limits));
  }
  TRY_OK(fields.finish());
  if (project) key.project = *project;
  if (name) key.name = *name;
  key.role = role == "admin" ? store::KeyRole::kAdmin : store::KeyRole::kUser;
  TRY_OK(store::check_new_key(key));
  return key;
}

json::value optional_time(const std::optional<std::int64_t>& ms) {
  return ms ? json::value(utc_text(*ms)) : json::value(nullptr);
}

json::object key_json(const store::KeyRecord& key) {
  return {{"id", key.id.str()},
          {"project", key.project},
          {"name", key.name},
          {"role", key.role == store::KeyRole::kAdmin ? "admin" : "user"},
          {"limits",
           {{"max_in_flight", key.limits.max_in_flight},
            {"runs_per_minute", key.limits.runs_per_minute},
            {"max_memory_mb", key.limits.max_memory_bytes >> 20}}},
          {"created_at", utc_text(key.created_ms)},
          {"last_used_at", optional_time(key.last_used_ms)},
          {"revoked_at", optional_time(key.revoked_ms)}};
}

std::optional<std::string> project_filter(const Request& request) {
  const std::string* project = request.query.find("project");
  return project != nullptr && *project != "*" ? std::optional(*project) : std::nullopt;
}

}  // namespace

std::span<const routing::RouteRow<KeyRoutes>> KeyRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<KeyRoutes> kRows[] = {
      {Method::kPost, "/v1/keys", routing::Access::kAdmin, &KeyRoutes::create_key,
       "Create an API key"},
      {Method::kGet, "/v1/keys", routing::Access::kAdmin, &KeyRoutes::list_keys,
       "List all API keys without their secrets"},
      {Method::kDelete, "/v1/keys/{id}", routing::Access::kAdmin, &KeyRoutes::revoke_key,
       "Revoke an API key"},
  };
  return kRows;
}

Task<Response> KeyRoutes::create_key(Request& request, ResponseWriter&) {
  CO_TRY(const store::NewKey key, read_new_key(request.body));
  const store::Ask<store::CreatedKey> ask = [&](store::Callback<store::CreatedKey> done) {
    deps_.store.create_key(key, std::move(done));
  };
  CO_TRY(const store::CreatedKey created, co_await store::store_call(ask));
  json::object body = key_json(created.record);
  body["key"] = created.secret;
  Response response = Response::json(json::serialize(body) + "\n", 201);
  // Only this answer contains the secret: no proxy or cache may store it.
  response.headers.set("Cache-Control", "no-store");
  co_return response;
}

Task<Response> KeyRoutes::list_keys(Request& request, ResponseWriter&) {
  const std::optional<std::string> project = project_filter(request);
  const store::Ask<std::vector<store::KeyRecord>> ask =
      [&](store::Callback<std::vector<store::KeyRecord>> done) {
        deps_.store.list_keys(project, std::move(done));
      };
  CO_TRY(const auto keys, co_await store::store_call(ask));
  json::array list;
  for (const store::KeyRecord& key : keys) list.push_back(key_json(key));
  json::object body{{"keys", std::move(list)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> KeyRoutes::revoke_key(Request& request, ResponseWriter&) {
  const auto id = store::KeyId::parse(request.param("id"));
  if (!id) co_return Response::refuse(404, "not_found", "there is no such key");
  const std::optional<std::string> project = project_filter(request);
  const store::Ask<void> ask = [&](store::Callback<> done) {
    deps_.store.revoke_key(project, *id, std::move(done));
  };
  CO_TRY_OK(co_await store::store_call(ask));
  co_return Response::empty(204);
}

}  // namespace glovebox::api
