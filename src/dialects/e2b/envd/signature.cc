#include "dialects/e2b/envd/signature.h"

#include <openssl/sha.h>

#include <charconv>

#include "base/base64.h"
#include "base/constant_time.h"
#include "base/wall_clock.h"
#include "dialects/e2b/error_form.h"
#include "wire/guest/session_frames.h"

namespace glovebox::e2b {
namespace {

constexpr int kUnauthenticated = 401;
constexpr std::string_view kSignaturePrefix = "v1_";
constexpr std::size_t kSignatureBytes = kSignaturePrefix.size() + 43;  // 32 bytes in base64

AgentAccess::Admission unauthorized(std::string_view message) {
  AgentAccess::Admission admission;
  admission.refusal = refusal(kUnauthenticated, message);
  return admission;
}

// Nothing: no client can have signed this. The bounds keep short what is hashed for every sandbox.
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

bool is_signed_by(const AccessTokens& tokens, std::string_view sandbox, const SignedFile& file,
                  const std::string& signature) {
  const std::string token = tokens.token_of(sandbox);
  return !token.empty() && equal_in_constant_time(file_signature(file, token), signature);
}

AgentAccess::Admission refuse_for_now() {
  AgentAccess::Admission admission;
  admission.refusal = refusal(503, "too many signed URLs are being checked; try again shortly");
  admission.refusal->headers.set("Retry-After", "1");
  return admission;
}

bool is_expired(const SignedFile& file) {
  return file.expires_s && *file.expires_s < wall_clock_ms() / 1000;
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
  return std::string(kSignaturePrefix) + encoded;
}

asio::awaitable<std::string> SignedFileAccess::signer_of(SignedFile file, std::string signature) {
  auto search = [tokens = tokens_, all = sessions_.sessions(), file = std::move(file),
                 signature = std::move(signature)] {
    std::string signer;
    // All are tried, so that the duration does not reveal which one it is.
    for (const SandboxId& id : all) {
      if (is_signed_by(tokens, id.str(), file, signature)) signer = id.str();
    }
    return signer;
  };
  // All searches are one owner's: projects wait for one of them at most.
  co_return co_await worker_.run("", std::move(search));
}

asio::awaitable<AgentAccess::Admission> SignedFileAccess::admit(http::Request& request,
                                                                FileAccess access) {
  const std::string* signature = request.query.find("signature");
  const std::optional<SignedFile> file = signed_file(request, access);
  if (!request.param("id").empty()) co_return co_await admit_named(request, file, signature);
  if (signature == nullptr) co_return unauthorized("missing signature query parameter");
  const bool is_well_formed =
      file && signature->size() == kSignatureBytes && signature->starts_with(kSignaturePrefix);
  if (!is_well_formed) co_return unauthorized("invalid signature");
  const http::RequestOwner anonymous{.name = request.owner};
  const std::shared_ptr<http::FairShare> searches = searches_;
  if (!searches->has_room(anonymous)) co_return refuse_for_now();
  std::string signer;
  {
    const http::FairShare::Part searching(*searches, anonymous, 1);
    signer = co_await signer_of(*file, *signature);
  }
  if (signer.empty()) co_return unauthorized("invalid signature");
  if (is_expired(*file)) co_return unauthorized("signature is already expired");
  request.path_params.add("id", signer);
  co_return co_await access_.admit(request, AccessToken::kReplaced);
}

asio::awaitable<AgentAccess::Admission> SignedFileAccess::admit_named(
    const http::Request& request, const std::optional<SignedFile>& file,
    const std::string* signature) {
  const std::string_view id = request.param("id");
  const std::string_view token = request.header("X-Access-Token");
  const bool is_signed =
      signature != nullptr && file && is_signed_by(tokens_, id, *file, *signature);
  const AccessToken needed = is_signed ? AccessToken::kReplaced : AccessToken::kOptional;
  AgentAccess::Admission admission = co_await access_.admit(request, needed);
  if (admission.refusal) co_return admission;
  if (!token.empty()) {
    if (tokens_.is_valid(id, token)) co_return admission;
    co_return unauthorized("access token present in header but does not match");
  }
  if (signature == nullptr) co_return unauthorized("missing signature query parameter");
  if (!is_signed) co_return unauthorized("invalid signature");
  if (is_expired(*file)) co_return unauthorized("signature is already expired");
  co_return admission;
}

}  // namespace glovebox::e2b
