// File requests to a sandbox with the rights of E2B's agent. It runs as root: the user of a request
// only says which home directory is meant and who owns new files. A request that the user may not
// make is therefore repeated as root; the client's token would admit it as root, too.
#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"

namespace glovebox::e2b {

// The named user, or the sandbox's default one. kPolicy: invalid user name.
Result<std::string> file_user(std::string named);

// A request of this user, who owns what it creates; entries come with all details.
wire::FileRequest file_request(wire::FileOp op, std::string user, std::string path);

Task<wire::FileDone> ask_file(std::shared_ptr<node::Session> session, wire::FileRequest request);
Task<std::unique_ptr<node::FileTransfer>> open_file(std::shared_ptr<node::Session> session,
                                                    wire::FileRequest request);

// The user's home directory in the sandbox.
Task<std::string> home_directory(std::shared_ptr<node::Session> session, std::string user);

}  // namespace glovebox::e2b
