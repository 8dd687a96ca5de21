// A process of a caller's, started in a session.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/task.h"
#include "control/app.h"
#include "control/exec_request.h"
#include "http/message.h"
#include "node/session_service.h"

namespace glovebox::control {

enum class ExecKind : std::uint8_t { kCollect, kBackground, kStream };

// `line` is for the log. Errors as Session::start's.
Task<node::Session::Started> start_process(App& app, std::shared_ptr<node::Session> session,
                                           node::ProcessSpec spec, node::Session::Attach attach,
                                           std::string line);

// What does not fit the sandbox (no such program, directory or user) is kInvalidArgument.
Task<node::Session::Started> start_exec(App& app, std::shared_ptr<node::Session> session,
                                        ExecRequest request, ExecKind kind);

// Past which a process is killed; max(): never.
std::chrono::steady_clock::time_point deadline_of(const ExecRequest& request,
                                                  std::chrono::milliseconds otherwise);

// Writes in its own time, then closes, and ends with the process whatever happens.
void feed_stdin(App& app, std::shared_ptr<node::Session> session, wire::ProcessNumber process,
                std::string bytes, std::shared_ptr<void> claim);
// A claim on the server's memory for what is given to feed_stdin(), before anything is started.
Result<std::shared_ptr<void>> claim_stdin(App& app, const std::optional<std::string>& given);

}  // namespace glovebox::control
