#include "api/routes/sandboxes/context_routes.h"

#include "sessions/contexts/context_table.h"

#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/user_environment.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

std::string_view state_of(const sessions::ContextTable& table, const sessions::Context& context) {
  if (context.starting || !table.alive(context)) return "restarting";
  return context.lock.is_locked() ? "busy" : "idle";
}

json::object context_json(const sessions::ContextTable& table, const sessions::Context& context) {
  return {{"id", context.id},
          {"language", sessions::language_name(context.spec.language)},
          {"cwd", context.spec.cwd},
          {"user", context.spec.user},
          {"state", state_of(table, context)},
          {"warm", context.warm},
          {"created_at", utc_text(context.created_ms)},
          {"cells", context.cells},
          {"waiting", context.lock.waiting()},
          {"process", context.process == 0 ? json::value(nullptr) : json::value(context.process)}};
}

Result<sessions::ContextSpec> parse_context(std::string_view body) {
  sessions::ContextSpec spec;
  TRY(const json::value document, wire::parse_strict_json(body.empty() ? "{}" : body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(const auto language, fields.text("language", 32));
  if (language) {
    const auto known = sessions::parse_language(*language);
    if (!known) return fields.bad("language", "must be " + sessions::language_list());
    spec.language = *known;
  }
  spec.has_user = fields.take("user") != nullptr;
  TRY(spec.user, wire::read_user(fields, "user"));
  TRY(const auto cwd, wire::read_directory(fields, "cwd"));
  spec.has_cwd = cwd.has_value();
  spec.cwd = cwd ? *cwd : sessions::home_of(spec.user);
  TRY(spec.env, wire::read_environment(fields, "env"));
  TRY_OK(fields.finish());
  return spec;
}

struct Found {
  std::shared_ptr<sessions::ContextTable> table;
  std::shared_ptr<sessions::Context> context;
};

Result<Found> context_of(const ContextRoutes::Dependencies& deps, const Request& request) {
  TRY(const auto session, deps.lookup.session_of(request));
  Found found;
  found.table = deps.contexts.of(session);
  found.context = found.table->find(request.param("context"));
  if (!found.context) return fail(Errc::kNotFound, "there is no such context");
  return found;
}

}  // namespace

std::span<const routing::RouteRow<ContextRoutes>> ContextRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<ContextRoutes> kRows[] = {
      {Method::kPost, "/v1/sandboxes/{id}/contexts", routing::Access::kKey,
       &ContextRoutes::create_context, "Create a code context", 256 * 1024},
      {Method::kGet, "/v1/sandboxes/{id}/contexts", routing::Access::kKey,
       &ContextRoutes::list_contexts, "List the code contexts of a sandbox"},
      {Method::kGet, "/v1/sandboxes/{id}/contexts/{context}", routing::Access::kKey,
       &ContextRoutes::get_context, "Get a code context"},
      {Method::kDelete, "/v1/sandboxes/{id}/contexts/{context}", routing::Access::kKey,
       &ContextRoutes::delete_context, "End a code context"},
      {Method::kPost, "/v1/sandboxes/{id}/contexts/{context}/interrupt", routing::Access::kKey,
       &ContextRoutes::interrupt_context, "Interrupt a code context and keep its state"},
  };
  return kRows;
}

Task<Response> ContextRoutes::create_context(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(sessions::ContextSpec spec, parse_context(request.body));
  const auto table = deps_.contexts.of(session);
  CO_TRY(const auto context, co_await table->create(std::move(spec)));
  co_return Response::json(json::serialize(context_json(*table, *context)) + "\n", 201);
}

Task<Response> ContextRoutes::list_contexts(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  const auto table = deps_.contexts.of(session);
  json::array all;
  for (const auto& context : table->list()) all.push_back(context_json(*table, *context));
  const json::object body{{"contexts", std::move(all)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> ContextRoutes::get_context(Request& request, ResponseWriter&) {
  CO_TRY(const Found found, context_of(deps_, request));
  co_return Response::json(json::serialize(context_json(*found.table, *found.context)) + "\n");
}

Task<Response> ContextRoutes::delete_context(Request& request, ResponseWriter&) {
  CO_TRY(const Found found, context_of(deps_, request));
  CO_TRY_OK(co_await found.table->remove(found.context));
  co_return Response::empty();
}

Task<Response> ContextRoutes::interrupt_context(Request& request, ResponseWriter&) {
  CO_TRY(const Found found, context_of(deps_, request));
  CO_TRY_OK(found.table->interrupt(*found.context));
  co_return Response::empty();
}

}  // namespace glovebox::api
