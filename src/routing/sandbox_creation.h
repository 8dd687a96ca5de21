// A session made for a request, as POST /v1/sandboxes makes it: by whom, within the key's limits,
// and only as long as the client waits. Every dialect makes its sessions here.
#pragma once

#include <optional>
#include <string>

#include "base/task.h"
#include "routing/app.h"
#include "sessions/session_keeper.h"
#include "http/message.h"
#include "store/key.h"

namespace glovebox::routing {

// Whose sandboxes, and by whom.
struct Caller {
  store::Principal who;
  std::string project;
};
Result<Caller> caller_of(App& app, const http::Request& request);
// The same, of one project: "*" is refused.
Result<Caller> caller_of_one_project(App& app, const http::Request& request);

struct Creation {
  std::optional<sessions::SessionKeeper::Created> made;  // nothing: see refusal
  http::Response refusal;
};
asio::awaitable<Creation> create_session_for(App& app, http::Request& request, Caller caller,
                                             sessions::CreateRequest wanted);

}  // namespace glovebox::routing
