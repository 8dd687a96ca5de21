#include "dialects/e2b/control/sandbox_lookup.h"

#include "dialects/e2b/error_form.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kTtl = "ttl_s";  // what the sessions call a timeout

}  // namespace

std::string sandbox_id_of(const http::Request& request) { return std::string(request.param("id")); }

Error sandbox_not_found(const std::string& id) {
  return Error(Errc::kNotFound, "sandbox \"" + id.substr(0, 100) + "\" was not found");
}

Task<store::SessionRecord> find_sandbox(sessions::SessionRegistry& registry, std::string project,
                                        std::string id) {
  Result<store::SessionRecord> record = co_await registry.get(std::move(project), id);
  if (!record && record.error().code() != Errc::kNotFound) co_return record;
  if (!record || is_over(record->state)) co_return fail(sandbox_not_found(id));
  co_return record;
}

Error change_error(Error error, const std::string& id) {
  if (error.code() == Errc::kConflict || error.code() == Errc::kNotFound) {
    return sandbox_not_found(id);
  }
  if (error.code() == Errc::kPolicy && error.message().starts_with(kTtl)) {
    return Error(Errc::kInvalidArgument, "timeout" + error.message().substr(kTtl.size()));
  }
  return error;
}

http::Response creation_refusal(const http::Response& refused) {
  const std::string message = refused.problem ? refused.problem->message : refused.body;
  http::Response response = refused.status == 403 && message.starts_with(kTtl)
                                ? refusal(400, "timeout" + message.substr(kTtl.size()))
                                : refusal(refused.status, message);
  if (const std::string* when = refused.headers.find("Retry-After")) {
    response.headers.set("Retry-After", *when);
  }
  return response;
}

http::Response without_retry(http::Response response) {
  response.headers.set("Should-Retry", "false");
  return response;
}

}  // namespace glovebox::e2b
