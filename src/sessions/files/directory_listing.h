// Reads the entries of a directory one by one from a transfer (FileOp::kList). The sandbox sends
// them as records; a malformed record is an error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/task.h"
#include "node/sessions/session_service.h"
#include "wire/guest/file_records.h"

namespace glovebox::sessions {

class DirectoryListing {
 public:
  // Borrowed, and outlives this.
  explicit DirectoryListing(node::FileTransfer& transfer) : transfer_(transfer) {}

  // Nothing: there are no more entries. Errors: an errno of the helper, or kProtocol.
  Task<std::optional<wire::FileEntry>> next();
  // Valid after the last entry: whether the helper left out entries beyond FileRequest::most.
  bool is_truncated() const { return is_truncated_; }

 private:
  static constexpr std::size_t kBuffer = 64 * 1024;

  node::FileTransfer& transfer_;
  wire::RecordReader reader_;
  std::string buffer_ = std::string(kBuffer, '\0');
  bool is_truncated_ = false;
};

}  // namespace glovebox::sessions
