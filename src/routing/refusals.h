// Errors as HTTP answers. Status 429 is a limit of the caller's key, 503 is a limit of the host;
// both have Retry-After.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "http/message.h"
#include "store/key_usage.h"

namespace glovebox::routing {

// A run or sandbox that the planner or the node refused.
http::Response refuse_run(const Error& error);
// A request beyond its key's limits.
http::Response refuse_run(const store::Refusal& refusal);

// Nothing unless the error of ProcessStarter::start_exec() is about the program itself.
std::optional<http::Response> refuse_program(const Error& error);

// For a client that disconnected before its answer: only the log and the metrics show this.
http::Response refuse_gone_client();

// Packages that could not be prepared: the caller's fault (422, with the installer's output), the
// administrator's policy, or the host's state.
http::Response refuse_packages(const Error& error);

// The image that a run or a sandbox is to be made of cannot be used.
http::Response refuse_image_use(const Error& error);

// Its stable code, for metrics and events.
std::string code_of(const http::Response& refusal);
// The data of the event `error`, with which a stream ends that had begun before the refusal.
std::string error_event_json(const http::Response& refusal, std::string_view message,
                             std::string_view request_id);

}  // namespace glovebox::routing
