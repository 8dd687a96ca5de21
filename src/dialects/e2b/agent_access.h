// Who may talk to a sandbox as E2B's clients do: by its access token, not by a key. The token is
// made of the sandbox's id and the server's own secret, so that it needs no place in the store and
// is the same after a restart and a pause.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "node/sessions/session_service.h"
#include "routing/app.h"

namespace glovebox::e2b {

// "ea_" and 64 hex digits.
std::string access_token(const routing::App& app, std::string_view sandbox_id);
bool is_access_token(const routing::App& app, std::string_view sandbox_id, std::string_view given);

struct Gate {
  std::shared_ptr<node::Session> session;  // null: see refusal
  std::optional<http::Response> refusal{};
};

enum class Token : std::uint8_t {
  kNeeded,    // X-Access-Token must be the sandbox's
  kNotAsked,  // /health; /files, which has signatures, too; contexts
};

// The sandbox that the request is routed to (the parameters "id" and "port"). One that is paused
// and may be woken by who comes is resumed first. None that runs: 502, by which clients know that
// it is gone.
asio::awaitable<Gate> enter(routing::App& app, const http::Request& request, Token token);

// "Authorization: Basic" says for whom: empty, when nobody is named.
std::string user_of(const http::Request& request);

// {"code","message"}: E2B's errors everywhere but in Connect.
http::Response refusal(int status, std::string_view message);
http::Response refusal(const Error& error);

}  // namespace glovebox::e2b
