#include "dialects/e2b/envd/signature.h"

#include <openssl/sha.h>

#include <charconv>

#include "base/base64.h"
#include "base/constant_time.h"
#include "base/wall_clock.h"
#include "wire/guest/session_frames.h"

namespace glovebox::e2b {
namespace {

constexpr int kUnauthenticated = 401;
constexpr std::string_view kPrefix = "v1_";
constexpr std::size_t kSignature = kPrefix.size() + 43;  // of 32 bytes in base64

Gate refused(std::string_view message) {
  Gate gate;
  gate.refusal = refusal(kUnauthenticated, message);
  return gate;
}

bool is_same(const std::string& a, const std::string& b) {
  return equal_in_constant_time(a, b);
}

// Nothing: this was never signed. What is hashed for each sandbox is short, whoever sends it.
std::optional<SignedFile> signed_file(const http::Request& request, FileAccess access) {
  SignedFile file;
  file.path = request.query.get("path");
  file.user = request.query.get("username");
  file.access = access;
  if (file.path.size() > wire::kMaxSessionPath || file.user.size() > wire::kMaxUserName) {
    return std::nullopt;
  }
  const std::string* until = request.query.find("signature_expiration");
  if (until == nullptr) return file;
  std::int64_t seconds = 0;
  const auto [end, ec] = std::from_chars(until->data(), until->data() + until->size(), seconds);
  if (ec != std::errc{} || end != until->data() + until->size()) return std::nullopt;
  file.expires_s = seconds;
  return file;
}

bool is_expired(const SignedFile& file) {
  return file.expires_s && *file.expires_s < wall_clock_ms() / 1000;
}

bool has_signed(const routing::App& app, std::string_view sandbox, const SignedFile& file,
                const std::string& given) {
  const std::string token = access_token(app, sandbox);
  return !token.empty() && is_same(file_signature(file, token), given);
}

// The sandbox that signed this; each is tried, whether one was found or not.
std::string signer_of(const routing::App& app, const SignedFile& file, const std::string& given) {
  std::string signer;
  for (const SandboxId& id : app.session_service.sessions()) {
    if (has_signed(app, id.str(), file, given)) signer = id.str();
  }
  return signer;
}

}  // namespace

std::string file_signature(const SignedFile& file, std::string_view token) {
  std::string text = file.path;
  text += file.access == FileAccess::kRead ? ":read:" : ":write:";
  text += file.user;
  text += ':';
  text += token;
  if (file.expires_s) text += ":" + std::to_string(*file.expires_s);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string encoded =
      base64_encode(std::string_view(reinterpret_cast<const char*>(digest), sizeof digest));
  while (encoded.ends_with('=')) encoded.pop_back();
  return std::string(kPrefix) + encoded;
}

asio::awaitable<Gate> enter_files(routing::App& app, http::Request& request, FileAccess access) {
  const bool is_routed = !request.param("id").empty();
  const std::string_view header = request.header("X-Access-Token");
  if (is_routed && !header.empty()) {
    Gate gate = co_await enter(app, request, Token::kNotAsked);
    if (gate.refusal || is_access_token(app, request.param("id"), header)) co_return gate;
    co_return refused("access token present in header but does not match");
  }
  const std::string* given = request.query.find("signature");
  const std::optional<SignedFile> file = signed_file(request, access);
  if (is_routed) {
    Gate gate = co_await enter(app, request, Token::kNotAsked);
    if (gate.refusal) co_return gate;
    if (given == nullptr) co_return refused("missing signature query parameter");
    if (!file || !has_signed(app, request.param("id"), *file, *given)) {
      co_return refused("invalid signature");
    }
    if (is_expired(*file)) co_return refused("signature is already expired");
    co_return gate;
  }
  if (given == nullptr) co_return refused("missing signature query parameter");
  const bool may_be_one = file && given->size() == kSignature && given->starts_with(kPrefix);
  const std::string signer = may_be_one ? signer_of(app, *file, *given) : std::string();
  if (signer.empty()) co_return refused("invalid signature");
  if (is_expired(*file)) co_return refused("signature is already expired");
  request.path_params.add("id", signer);
  co_return co_await enter(app, request, Token::kNotAsked);
}

}  // namespace glovebox::e2b
