// Signed URLs of files. They need no header, so that a browser can open them, and need not name
// their sandbox: it is the one whose access token made the signature.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "dialects/e2b/access_tokens.h"
#include "dialects/e2b/agent_access.h"
#include "http/message.h"
#include "http/server/fair_share.h"
#include "node/sessions/session_service.h"
#include "routing/worker.h"

namespace glovebox::e2b {

enum class FileAccess : bool { kRead, kWrite };

// What is signed, exactly as it is in the URL.
struct SignedFile {
  std::string path;
  std::string user;
  FileAccess access = FileAccess::kRead;
  std::optional<std::int64_t> expires_s{};  // since 1970
};

// "v1_" and the digest.
std::string file_signature(const SignedFile& file, std::string_view token);

// Admits requests to /files: by the sandbox's access token, or by a signature.
class SignedFileAccess {
 public:
  // All are borrowed and outlive this.
  SignedFileAccess(AgentAccess& access, const AccessTokens& tokens,
                   const node::SessionService& sessions, routing::Worker& worker)
      : access_(access), tokens_(tokens), sessions_(sessions), worker_(worker) {}

  // To the sandbox that the request names or, when it names none, to the one that signed it, which
  // is added as path parameter "id".
  asio::awaitable<AgentAccess::Admission> admit(http::Request& request, FileAccess access);

 private:
  // Empty: no sandbox of this server did. Hashes for every sandbox, so it is done on the worker.
  asio::awaitable<std::string> signer_of(SignedFile file, std::string signature);
  asio::awaitable<AgentAccess::Admission> admit_named(const http::Request& request,
                                                      const std::optional<SignedFile>& file,
                                                      const std::string* signature);

  AgentAccess& access_;
  const AccessTokens& tokens_;
  const node::SessionService& sessions_;
  routing::Worker& worker_;
  // A client that asks shows no credential. A search takes milliseconds where thousands of
  // sandboxes are. Shared with the requests that search: when the server ends, they may outlive
  // this.
  const std::shared_ptr<http::FairShare> searches_ = std::make_shared<http::FairShare>(64);
};

}  // namespace glovebox::e2b
