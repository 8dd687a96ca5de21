// Signed URLs of files. On one port they name no sandbox: the one whose token made the signature is
// the one that is meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "routing/app.h"
#include "dialects/e2b/agent_access.h"
#include "http/message.h"

namespace glovebox::e2b {

enum class FileAccess : bool { kRead, kWrite };

// What a signature says, all as it is in the URL.
struct SignedFile {
  std::string path;
  std::string user;
  FileAccess access = FileAccess::kRead;
  std::optional<std::int64_t> expires_s{};  // since 1970
};

// "v1_" and the digest.
std::string file_signature(const SignedFile& file, std::string_view token);

// Into the sandbox that the request is routed to or, when it is to none, the one that signed it.
// Needs the token or a signature.
asio::awaitable<Gate> enter_files(routing::App& app, http::Request& request, FileAccess access);

}  // namespace glovebox::e2b
