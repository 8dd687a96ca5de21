// The body of an upload: one file as the body itself, or several as the parts of a form, whose file
// names are paths. Each file is written whole or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/task.h"
#include "http/message.h"
#include "node/sessions/session_service.h"
#include "wire/guest/file_metadata.h"

namespace glovebox::e2b {

// What all files of an upload have in common.
struct Upload {
  std::shared_ptr<node::Session> session;
  std::string user;
  wire::Metadata metadata;
};

// Of the headers X-Metadata-*. Nothing: it is too large or not printable ASCII.
std::optional<wire::Metadata> upload_metadata(const http::Headers& headers);

// `request` and its body outlive the call. Content-Encoding: identity and gzip.
Task<http::Response> receive_upload(Upload upload, http::Request& request);

}  // namespace glovebox::e2b
