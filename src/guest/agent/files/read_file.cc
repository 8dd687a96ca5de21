// Reading a file, or a range of it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "guest/agent/files/entry.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxProcBytes = 1024 * 1024;

// Files in /proc are made when they are read, and say that they are empty.
Result<std::string> read_proc_file(int file) {
  std::string content(kMaxProcBytes + 1, '\0');
  std::size_t have = 0;
  while (have < content.size()) {
    const ssize_t got = ::read(file, content.data() + have, content.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_with(errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  if (have > kMaxProcBytes) {
    return fail(
        Error(Errc::kResourceExhausted, "a file in /proc can be read up to a megabyte", EFBIG));
  }
  content.resize(have);
  return content;
}

}  // namespace

Result<> read_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  struct stat info {};
  TRY(const UniqueFd file, open_content(AT_FDCWD, request.path, true, info, ProcFiles::kAllow));
  TRY(wire::FileEntry entry, stat_entry(file.get(), "", UserNames::read()));
  entry.path = request.path;
  std::string made;
  const bool is_made = in_proc(file.get());
  if (is_made) {
    TRY(made, read_proc_file(file.get()));
    entry.size = made.size();
  }
  // The reader gets the announced size, and not what is appended meanwhile.
  const std::uint64_t from = std::min(request.from, entry.size);
  const std::uint64_t size = std::min(request.most, entry.size - from);
  TRY_OK(link.opened(wire::encode_record(entry)));
  PipeWriter out(link.data());
  if (is_made) {
    TRY_OK(out.write(std::string_view(made).substr(from, size)));
    link.done.bytes = size;
  } else {
    TRY(link.done.bytes, out.send_file(file.get(), from, size));
  }
  TRY_OK(out.flush());
  link.done.entry = wire::encode_record(entry);
  link.done.entries = 1;
  return {};
}

}  // namespace glovebox::agent
