#include "sessions/files/directory_listing.h"

#include <utility>

namespace glovebox::sessions {

Task<std::optional<wire::FileEntry>> DirectoryListing::next() {
  while (true) {
    CO_TRY(const std::optional<std::string> record, reader_.next());
    if (record) {
      CO_TRY(wire::FileEntry entry, wire::decode_file_entry(*record));
      co_return std::optional<wire::FileEntry>(std::move(entry));
    }
    const std::size_t got = co_await transfer_.read_some(buffer_.data(), buffer_.size());
    if (got == 0) break;
    reader_.add({buffer_.data(), got});
  }
  CO_TRY(const wire::FileDone done, co_await transfer_.done());
  if (!reader_.empty()) {
    co_return fail(Errc::kProtocol, "incomplete directory listing from the sandbox");
  }
  is_truncated_ = done.message == "truncated";
  co_return std::optional<wire::FileEntry>();
}

}  // namespace glovebox::sessions
