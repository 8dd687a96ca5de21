#include "dialects/e2b/agent_access.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <strings.h>

#include <boost/json.hpp>
#include <span>

#include "base/base64.h"
#include "base/constant_time.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "http/status.h"
#include "routing/port_proxy.h"
#include "sessions/session_keeper.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr std::string_view kTokenPrefix = "ea_";
constexpr std::string_view kBasic = "Basic ";

}  // namespace

std::string access_token(const routing::App& app, std::string_view sandbox_id) {
  const std::string text = "envd:" + std::string(sandbox_id);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const std::string& secret = app.settings.secret;
  if (secret.empty() || ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                               reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                               digest, &size) == nullptr) {
    return {};  // nobody's: see is_access_token()
  }
  return std::string(kTokenPrefix) + hex_encode(std::span(digest, size));
}

bool is_access_token(const routing::App& app, std::string_view sandbox_id, std::string_view given) {
  const std::string token = access_token(app, sandbox_id);
  return !token.empty() && equal_in_constant_time(given, token);
}

asio::awaitable<Gate> enter(routing::App& app, const http::Request& request, Token token) {
  Gate gate;
  const std::string id(request.param("id"));
  const bool is_known = is_access_token(app, id, request.header("X-Access-Token"));
  sessions::Sessions::Door door = app.sessions.door(id);
  if (door.session == nullptr && app.keeper != nullptr && is_known) {
    co_await app.keeper->wake(id);
    door = app.sessions.door(id);
  }
  if (door.session == nullptr) {
    gate.refusal = routing::port_refusal(502, id, "The sandbox was not found");
    co_return gate;
  }
  if (token == Token::kNeeded && !is_known) {
    gate.refusal = refusal(401, "the access token is missing or is not this sandbox's");
    co_return gate;
  }
  gate.session = std::move(door.session);
  co_return gate;
}

std::string user_of(const http::Request& request) {
  std::string_view value = request.header("Authorization");
  if (value.size() <= kBasic.size() ||
      ::strncasecmp(value.data(), kBasic.data(), kBasic.size()) != 0) {
    return {};
  }
  value.remove_prefix(kBasic.size());
  const auto decoded = base64_decode(value);
  if (!decoded) return {};
  return decoded->substr(0, decoded->find(':'));
}

http::Response refusal(int status, std::string_view message) {
  const json::object body{{"code", status}, {"message", to_utf8(message)}};
  return http::Response::json(json::serialize(body), status);
}

http::Response refusal(const Error& error) {
  return refusal(http::status_of(error.code()).status, error.message());
}

}  // namespace glovebox::e2b
