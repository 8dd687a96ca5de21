// What there is: one file, or a directory and what is below it. Sorted by name in each directory
// (in groups of TreeWalk::kMaxNames where there are more), what is in a directory right after it.
#include <dirent.h>
#include <fcntl.h>

#include "guest/agent/files/entry.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/tree_walk.h"

namespace glovebox::agent {
namespace {

// Gone, or turned into something else, since its name was read; or not ours to look into.
bool is_passed_over(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EACCES || error == EPERM;
}

}  // namespace

Result<> stat_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  const int flags = O_PATH | (request.follow ? 0 : O_NOFOLLOW);
  TRY(const UniqueFd file, open_path(AT_FDCWD, request.path, flags));
  TRY(wire::FileEntry entry, stat_entry(file.get(), "", UserNames::read()));
  if (request.details) add_details(AT_FDCWD, request.path, entry);
  entry.path = request.path;
  link.done.entry = wire::encode_record(entry);
  link.done.entries = 1;
  return {};
}

Result<> list_files(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  TRY(UniqueFd top, open_listing(AT_FDCWD, request.path));
  const UserNames names = UserNames::read();
  TRY(wire::FileEntry whole, stat_entry(top.get(), "", names));
  whole.path = request.path;
  TRY_OK(link.opened(wire::encode_record(whole)));
  PipeWriter out(link.data());
  TreeWalk walk(std::move(top));
  for (;;) {
    TRY(const DirName* name, walk.next());
    if (name == nullptr) {
      TRY(const bool more, walk.leave());
      if (!more) break;
      continue;
    }
    if (walk.path().size() + name->name.size() > wire::kMaxRecordPath) continue;
    auto entry = stat_entry(walk.dir(), name->name, names);
    if (!entry) continue;  // it went meanwhile
    if (request.details) add_details(walk.dir(), name->name, *entry);
    if (link.done.entries == request.most) {
      link.done.message = "truncated";
      break;
    }
    entry->path = walk.path() + name->name;
    TRY_OK(out.write(wire::encode_record(*entry)));
    ++link.done.entries;
    const bool deeper = request.depth == 0 || walk.depth() < request.depth;
    if (entry->type != wire::FileType::kDirectory || !deeper) continue;
    if (auto entered = walk.enter(name->name);
        !entered && !is_passed_over(entered.error().sys_errno())) {
      return fail(std::move(entered.error()).context(entry->path));
    }
  }
  link.done.bytes = out.written();
  return out.flush();
}

}  // namespace glovebox::agent
