#include "client/connection/resume.h"

#include <boost/json.hpp>

#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

constexpr std::string_view kWrongState = "wrong_state";

Result<bool> is_paused(ApiClient& api, const std::string& target) {
  TRY(const http::ClientResponse shown, api.send(get_request(target)));
  if (const auto error = api.error_in(shown)) return fail(Errc::kPolicy, error->message);
  TRY(const boost::json::object sandbox, parse_response(shown.body));
  return field_text(sandbox, "state") == "paused";
}

std::string target_of(const std::string& id) { return "/v1/sandboxes/" + percent_encode(id); }

}  // namespace

options::Option resume_option(bool& is_wanted) {
  return {"--resume", "", "resume the sandbox first if it is paused", &is_wanted};
}

Result<> resume_if_paused(ApiClient& api, const std::string& id) {
  const std::string target = target_of(id);
  TRY(const bool paused, is_paused(api, target));
  if (!paused) return {};
  TRY(const http::ClientResponse resumed, api.send(post_request(target + "/resume", "{}")));
  const auto error = api.error_in(resumed);
  // Another client may have resumed it meanwhile.
  if (error && error->code != kWrongState) return fail(Errc::kPolicy, error->message);
  return {};
}

ApiError explain_pause(ApiClient& api, const std::string& id, ApiError refused) {
  if (refused.code != kWrongState) return refused;
  const auto paused = is_paused(api, target_of(id));
  if (paused && *paused) {
    refused.message = "the sandbox is paused; `glovebox sandbox resume " + id +
                      "` resumes it, and so does --resume";
  }
  return refused;
}

}  // namespace glovebox::client
