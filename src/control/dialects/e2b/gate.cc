#include "control/dialects/e2b/gate.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <strings.h>

#include <boost/json.hpp>

#include "control/port_proxy.h"
#include "control/session_keeper.h"
#include "http/status.h"
#include "wire/base64_decode.h"
#include "wire/utf8.h"

namespace glovebox::control::e2b {
namespace {

namespace json = boost::json;

constexpr std::string_view kTokenPrefix = "ea_";
constexpr std::string_view kBasic = "Basic ";

}  // namespace

std::string access_token(const App& app, std::string_view sandbox_id) {
  const std::string text = "envd:" + std::string(sandbox_id);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const std::string& secret = app.settings.secret;
  if (secret.empty() || ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                               reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                               digest, &size) == nullptr) {
    return {};  // nobody's: see is_access_token()
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string token(kTokenPrefix);
  for (unsigned int i = 0; i < size; ++i) {
    token.push_back(kHex[digest[i] >> 4]);
    token.push_back(kHex[digest[i] & 15]);
  }
  return token;
}

bool is_access_token(const App& app, std::string_view sandbox_id, std::string_view given) {
  const std::string token = access_token(app, sandbox_id);
  return !token.empty() && given.size() == token.size() &&
         CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
}

asio::awaitable<Gate> enter(App& app, const http::Request& request, Token token) {
  Gate gate;
  const std::string id(request.param("id"));
  const bool is_known = is_access_token(app, id, request.header("X-Access-Token"));
  Sessions::Door door = app.sessions.door(id);
  if (door.session == nullptr && app.keeper != nullptr && is_known) {
    co_await app.keeper->wake(id);
    door = app.sessions.door(id);
  }
  if (door.session == nullptr) {
    gate.refusal = port_refusal(502, id, "The sandbox was not found");
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
  const auto decoded = wire::base64_decode(value);
  if (!decoded) return {};
  return decoded->substr(0, decoded->find(':'));
}

http::Response refusal(int status, std::string_view message) {
  const json::object body{{"code", status}, {"message", wire::to_utf8(message)}};
  return http::Response::json(json::serialize(body), status);
}

http::Response refusal(const Error& error) {
  return refusal(http::status_of(error.code()).status, error.message());
}

}  // namespace glovebox::control::e2b
