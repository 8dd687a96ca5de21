#include "routing/refusals.h"

#include <boost/json.hpp>
#include <cerrno>
#include <string>

#include "base/utf8.h"
#include "model/program_refusal.h"
#include "node/links/launcher_error.h"

namespace glovebox::routing {
namespace {

http::Response refuse_run_for(int status, std::string code, const std::string& message,
                              std::int64_t retry_after_seconds) {
  http::Response response = http::Response::refuse(status, std::move(code), message);
  if (retry_after_seconds > 0) {
    response.headers.set("Retry-After", std::to_string(retry_after_seconds));
  }
  return response;
}

}  // namespace

http::Response refuse_run(const Error& error) {
  const std::string& message = error.message();
  switch (error.code()) {
    case Errc::kInvalidArgument:
      return refuse_run_for(400, "invalid_argument", message, 0);
    case Errc::kNotFound:
      return refuse_run_for(404, "template_not_found", message, 0);
    case Errc::kPolicy:
      return refuse_run_for(403, "policy", message, 0);
    case Errc::kUnsupported:
      // The caller requires something that this host cannot do: refuse instead of providing less.
      return refuse_run_for(422, "unsupported", message, 0);
    case Errc::kResourceExhausted:
      return refuse_run_for(503, "host_full", message, 1);
    case Errc::kUnavailable:
      return refuse_run_for(
          503, node::is_launcher_error(error) ? "launcher_restarting" : "unavailable", message, 1);
    case Errc::kTimeout:
      return refuse_run_for(503, "host_full", message, 1);
    default:
      return http::Response::from_error(error);
  }
}

http::Response refuse_run(const store::Refusal& refusal) {
  if (refusal.error.code() == Errc::kPolicy) {
    return refuse_run_for(403, "key_limit", refusal.error.message(), 0);
  }
  return refuse_run_for(429, "key_limit", refusal.error.message(), refusal.retry_after.count());
}

std::optional<http::Response> refuse_program(const Error& error) {
  const auto refusal = program_refusal_in(error);
  if (!refusal) return std::nullopt;
  // Written out, because a style test compares the codes here with docs/api.md.
  const bool is_missing = *refusal == ProgramRefusal::kNotFound;
  return http::Response::refuse(400, is_missing ? "program_not_found" : "program_not_executable",
                                error.message());
}

http::Response refuse_gone_client() {
  constexpr int kClientClosedRequest = 499;  // nginx's number; the standard has none
  return http::Response::refuse(kClientClosedRequest, "client_gone", "the client disconnected");
}

http::Response refuse_packages(const Error& error) {
  const std::string message = to_utf8(error.message());  // an installer's own output
  switch (error.code()) {
    case Errc::kInvalidArgument:
    case Errc::kTimeout:
      return refuse_run_for(422, "dependencies_failed", message, 0);
    case Errc::kResourceExhausted:
      if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT) {
        return refuse_run_for(507, "disk_full", message, 0);
      }
      return refuse_run_for(503, "builds_full", message, 5);
    default:
      return refuse_run(error);
  }
}

http::Response refuse_image_use(const Error& error) {
  if (error.code() != Errc::kNotFound) return refuse_run(error);
  return refuse_run_for(404, "image_not_found", "profile.image: " + error.message(), 0);
}

std::string code_of(const http::Response& refusal) {
  return refusal.problem ? refusal.problem->code : "internal";
}

std::string error_event_json(const http::Response& refusal, std::string_view message,
                             std::string_view request_id) {
  return boost::json::serialize(boost::json::object{{"code", code_of(refusal)},
                                                    {"message", to_utf8(message)},
                                                    {"status", refusal.status},
                                                    {"request_id", request_id}});
}

}  // namespace glovebox::routing
