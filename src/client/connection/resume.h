// Paused sandboxes: a command that runs something in a sandbox resumes it first with --resume, and
// without it says how.
#pragma once

#include <string>

#include "base/result.h"
#include "client/connection/api_client.h"
#include "options/option.h"

namespace glovebox::client {

options::Option resume_option(bool& is_wanted);

// Resumes the sandbox if it is paused. kPolicy: the server refused.
Result<> resume_if_paused(ApiClient& api, const std::string& id);

// `refused` is the answer to a request for the sandbox. If that is paused, the message says how to
// resume it.
ApiError explain_pause(ApiClient& api, const std::string& id, ApiError refused);

}  // namespace glovebox::client
