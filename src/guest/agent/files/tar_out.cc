// A tree as a tar archive: names below what was asked for, which is "." itself; of a single file
// its own name.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "guest/agent/files/archive_writer.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/tree_walk.h"

namespace glovebox::agent {
namespace {

Result<> archive_tree(UniqueFd top, ArchiveWriter& archive) {
  TRY_OK(archive.add_directory(top.get(), ".", false));
  TreeWalk walk(std::move(top));
  for (;;) {
    TRY(const DirName* name, walk.next());
    if (name == nullptr) {
      TRY(const bool more, walk.leave());
      if (!more) return {};
      continue;
    }
    const std::string path = walk.path() + name->name;
    struct stat info {};
    if (::fstatat(walk.dir(), name->name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(info.st_mode)) {
      TRY_OK(archive.add(walk.dir(), name->name, path));
      continue;
    }
    auto dir = open_child(walk.dir(), name->name);
    if (!dir) {
      const int error = dir.error().sys_errno();
      if (error == ENOENT || error == ENOTDIR || error == ELOOP) continue;
      return fail(std::move(dir.error()).context(path));
    }
    if (in_proc(dir->get())) continue;
    TRY_OK(archive.add_directory(dir->get(), path, false));
    TRY_OK(walk.enter(name->name, std::move(*dir)));
  }
}

// Opened before anything is sent: a file that cannot be read is an error, not half an archive.
Result<> archive_file(const wire::FileRequest& request, ArchiveWriter& archive) {
  TRY(ResolvedPath named, resolve_path(request.path));
  TRY(const ResolvedPath resolved, follow_links(std::move(named)));
  return archive.add(resolved.dir.get(), resolved.name, resolve_path(request.path)->name);
}

}  // namespace

Result<> tar_out(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  PipeWriter out(link.data());
  ArchiveWriter archive(out, Attributes::kLeaveOut);
  auto top = open_listing(AT_FDCWD, request.path);
  Result<> outcome;
  if (top) {
    if (in_proc(top->get())) return fail_with(EACCES);
    TRY_OK(link.opened());
    outcome = archive_tree(std::move(*top), archive);
  } else if (top.error().sys_errno() == ENOTDIR) {
    struct stat info {};
    TRY_OK(open_content(AT_FDCWD, request.path, true, info));
    TRY_OK(link.opened());
    outcome = archive_file(request, archive);
  } else {
    return fail(std::move(top.error()));
  }
  if (outcome) outcome = archive.finish();
  link.done.bytes = out.written();
  link.done.entries = archive.entries();
  return outcome;
}

}  // namespace glovebox::agent
