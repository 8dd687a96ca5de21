// The entries of a directory as one JSON object, {"entries":[...]}: sent whole while it is small,
// so that it can still become an error, and streamed when it is large.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "http/message.h"
#include "sessions/files/directory_listing.h"

namespace glovebox::routing {

class ListingResponse {
 public:
  // An entry as an element of the array.
  using EntryJson = std::function<std::string(const wire::FileEntry&)>;

  // `transfer` and `writer` are borrowed and outlive this. Entries beyond `most` are counted, but
  // not sent.
  ListingResponse(node::FileTransfer& transfer, std::uint64_t most, http::ResponseWriter& writer,
                  EntryJson entry_json)
      : listing_(transfer), most_(most), writer_(writer), entry_json_(std::move(entry_json)) {}

  // Reads to the end. False: the client is gone. Errors as DirectoryListing::next's.
  Task<bool> read_all();
  // After read_all(): there are more entries than were sent.
  bool is_truncated() const { return listing_.is_truncated() || count_ > most_; }
  // Ends the object with `tail`, which follows the array: "}" or ",\"truncated\":true}".
  Task<http::Response> finish(std::string tail);

 private:
  asio::awaitable<bool> flush();

  sessions::DirectoryListing listing_;
  const std::uint64_t most_;
  http::ResponseWriter& writer_;
  const EntryJson entry_json_;
  std::string text_ = "{\"entries\":[";
  std::uint64_t count_ = 0;
};

}  // namespace glovebox::routing
