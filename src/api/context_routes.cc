// Code contexts of a session: made, listed, interrupted, deleted. What runs in them:
// routes/code.cc.
#include "sessions/contexts/context_table.h"

#include <boost/json.hpp>
#include <utility>

#include "api/handlers.h"
#include "base/wall_clock.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/process_json.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;

std::string_view state_of(const sessions::ContextTable& table, const sessions::Context& context) {
  if (context.starting || !table.alive(context)) return "restarting";
  return context.turns.taken() ? "busy" : "idle";
}

json::object context_json(const sessions::ContextTable& table, const sessions::Context& context) {
  return {{"id", context.id},
          {"language", sessions::language_name(context.spec.language)},
          {"cwd", context.spec.cwd},
          {"state", state_of(table, context)},
          {"warm", context.warm},
          {"created_at", utc_text(context.created_ms)},
          {"cells", context.cells},
          {"waiting", context.turns.waiting()},
          {"process", context.process == 0 ? json::value(nullptr) : json::value(context.process)}};
}

Result<sessions::ContextSpec> parse_context(std::string_view body) {
  sessions::ContextSpec spec;
  TRY(const json::value document, wire::parse_strict_json(body.empty() ? "{}" : body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(const auto language, fields.text("language", 32));
  if (language) {
    const auto known = sessions::parse_language(*language);
    if (!known) return fields.bad("language", "must be python, bash or javascript");
    spec.language = *known;
  }
  TRY(const auto cwd, wire::read_directory(fields, "cwd"));
  if (cwd) spec.cwd = *cwd;
  TRY(spec.env, wire::read_environment(fields, "env"));
  TRY_OK(fields.finish());
  return spec;
}

struct Found {
  std::shared_ptr<sessions::ContextTable> table;
  std::shared_ptr<sessions::Context> context;
};

Result<Found> context_of(routing::App& app, const Request& request) {
  TRY(const auto session, routing::session_of(app, request));
  Found found;
  found.table = app.contexts.of(session);
  found.context = found.table->find(request.param("context"));
  if (!found.context) return fail(Errc::kNotFound, "there is no such context");
  return found;
}

}  // namespace

Task<Response> create_context(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const auto session, routing::session_of(app, request));
  CO_TRY(sessions::ContextSpec spec, parse_context(request.body));
  const auto table = app.contexts.of(session);
  CO_TRY(const auto context, co_await table->create(std::move(spec)));
  co_return Response::json(json::serialize(context_json(*table, *context)) + "\n", 201);
}

Task<Response> list_contexts(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const auto session, routing::session_of(app, request));
  const auto table = app.contexts.of(session);
  json::array all;
  for (const auto& context : table->list()) all.push_back(context_json(*table, *context));
  const json::object body{{"contexts", std::move(all)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> get_context(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Found found, context_of(app, request));
  co_return Response::json(json::serialize(context_json(*found.table, *found.context)) + "\n");
}

Task<Response> delete_context(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Found found, context_of(app, request));
  CO_TRY_OK(co_await found.table->remove(found.context));
  co_return Response::empty();
}

Task<Response> interrupt_context(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Found found, context_of(app, request));
  CO_TRY_OK(found.table->interrupt(*found.context));
  co_return Response::empty();
}

}  // namespace glovebox::api
