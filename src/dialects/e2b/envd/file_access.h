// Asking a sandbox for files as E2B's daemon does it. That one is root, and a user's name only says
// whose home is meant and whose the new files are; so what the user may not do himself is asked for
// once more as root, on his behalf. His key, and the sandbox's token, could have asked as root too.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"

namespace glovebox::e2b {

// Who is named, or the sandbox's own user. kPolicy: this can be nobody's name.
Result<std::string> file_user(std::string named);

// A request with this user, for what is made to be his, and with details.
wire::FileRequest file_request(wire::FileOp op, std::string user, std::string path);

Task<wire::FileDone> ask_file(std::shared_ptr<node::Session> session, wire::FileRequest request);
Task<std::unique_ptr<node::FileTransfer>> open_file(std::shared_ptr<node::Session> session,
                                                    wire::FileRequest request);

// The user's home, as the sandbox has it.
Task<std::string> home_of(std::shared_ptr<node::Session> session, std::string user);

}  // namespace glovebox::e2b
