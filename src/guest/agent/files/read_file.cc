// Reading a file, or a range of it.
#include <fcntl.h>

#include <algorithm>

#include "guest/agent/files/entry.h"
#include "guest/agent/files/operations.h"

namespace glovebox::agent {

Result<> read_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  struct stat info {};
  TRY(const UniqueFd file, open_content(AT_FDCWD, request.path, true, info));
  TRY(wire::FileEntry entry, stat_entry(file.get(), "", UserNames::read()));
  entry.path = request.path;
  // The reader gets the announced size, and not what is appended meanwhile.
  const std::uint64_t from = std::min(request.from, entry.size);
  const std::uint64_t size = std::min(request.most, entry.size - from);
  TRY_OK(link.opened(wire::encode_record(entry)));
  PipeWriter out(link.data());
  TRY(link.done.bytes, out.send_file(file.get(), from, size));
  TRY_OK(out.flush());
  link.done.entry = wire::encode_record(entry);
  link.done.entries = 1;
  return {};
}

}  // namespace glovebox::agent
