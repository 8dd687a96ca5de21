// Admits requests to the agent API of a sandbox: its virtual ports 49983 (envd) and 49999 (the code
// interpreter). Clients show the sandbox's access token, not an API key. Whether a sandbox runs and
// may be resumed is decided by routing::SandboxAccess, as for ordinary ports.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/task.h"
#include "dialects/e2b/access_tokens.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "routing/sandbox_access.h"

namespace glovebox::e2b {

enum class AccessToken : std::uint8_t {
  kRequired,  // X-Access-Token must be the sandbox's
  kOptional,  // health, contexts; files, whose URLs may be signed instead
  kReplaced,  // by a valid signature
};

class AgentAccess {
 public:
  // Both are borrowed and outlive this.
  AgentAccess(routing::SandboxAccess& access, const AccessTokens& tokens)
      : access_(access), tokens_(tokens) {}

  struct Admission {
    std::shared_ptr<node::Session> session;  // null: see refusal
    std::optional<http::Response> refusal{};
  };

  // The sandbox of the path parameter "id". Refused with 502 when it does not run, which clients
  // take for its end; without the token where it is required with 401, which clients take for a
  // wrong token. A sandbox whose ports are private requires the token (or a signature) everywhere
  // and answers as if it did not exist, with 502, to a request without it. A paused sandbox that
  // may be resumed is resumed only by a request with the token, also where the token is optional.
  asio::awaitable<Admission> admit(const http::Request& request, AccessToken token);
  // The refusal of a request whose body has not been read yet, without waiting: a sandbox that
  // admit() might resume refuses nothing.
  std::optional<http::Response> refuse(const http::Request& request, AccessToken token) const;

  // The same for the interpreter, whose port is as private as the sandbox's other ports: requests
  // need the token of private ports, and with it resume a sandbox where the access token is
  // optional.
  asio::awaitable<Admission> admit_to_interpreter(const http::Request& request, AccessToken token);
  std::optional<http::Response> refuse_to_interpreter(const http::Request& request,
                                                      AccessToken token) const;

 private:
  // Both use the request as long as they live.
  routing::SandboxAccess::Authorize agent_rights(const http::Request& request,
                                                 AccessToken token) const;
  routing::SandboxAccess::Authorize interpreter_rights(const http::Request& request,
                                                       AccessToken token) const;
  asio::awaitable<Admission> admit_by(std::string id, routing::SandboxAccess::Authorize rights_of);
  bool has_token(const http::Request& request) const;

  routing::SandboxAccess& access_;
  const AccessTokens& tokens_;
};

}  // namespace glovebox::e2b
