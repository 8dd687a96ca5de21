// Moving and copying, as requests ask for them.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "guest/agent/files/copy_tree.h"
#include "guest/agent/files/entry.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/remove_tree.h"

namespace glovebox::agent {
namespace {

Result<> rename_to(const ResolvedPath& from, const std::string& name, const ResolvedPath& to,
                   Replace replace) {
  const unsigned flags = replace == Replace::kNo ? RENAME_NOREPLACE : 0;
  if (::renameat2(from.dir.get(), name.c_str(), to.dir.get(), to.name.c_str(), flags) != 0) {
    return fail_with(errno);
  }
  return {};
}

// From another file system; or a directory that the template shipped, which an overlay cannot
// rename. Complete under a name of our own first, so that no half of it is ever visible.
Result<> move_by_copy(const ResolvedPath& from, const ResolvedPath& to, Replace replace,
                      CopyCounts& copied) {
  std::uint64_t removed = 0;
  TRY(UniqueFd dir, open_path(to.dir.get(), ".", O_PATH | O_DIRECTORY));
  const ResolvedPath between{std::move(dir), temporary_name()};
  auto outcome = copy_tree(from, between, Trees::kCopy, Replace::kNo, copied);
  if (outcome) outcome = rename_to(between, between.name, to, replace);
  if (!outcome) {
    (void)remove_tree_at(between.dir.get(), between.name, OtherMounts::kEnter, removed);
    return outcome;
  }
  return remove_tree_at(from.dir.get(), from.name, OtherMounts::kEnter, removed);
}

Result<> read_target(HelperLink& link, const ResolvedPath& to) {
  TRY(wire::FileEntry entry, stat_entry(to.dir.get(), to.name, UserNames::read()));
  if (link.request().details) add_details(to.dir.get(), to.name, entry);
  entry.path = link.request().target;
  link.done.entry = wire::encode_record(entry);
  return {};
}

}  // namespace

Result<> move_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  const Replace replace = request.overwrite ? Replace::kYes : Replace::kNo;
  TRY(const ResolvedPath from, resolve_path(request.path));
  TRY(const ResolvedPath to, resolve_creating_parents(request.target, Owner{}));
  auto moved = rename_to(from, from.name, to, replace);
  CopyCounts copied{.bytes = 0, .entries = 1};
  if (!moved && moved.error().sys_errno() == EXDEV) {
    copied.entries = 0;
    moved = move_by_copy(from, to, replace, copied);
  }
  if (!moved) return moved;
  link.done.bytes = copied.bytes;
  link.done.entries = copied.entries;
  return read_target(link, to);
}

Result<> copy_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  TRY(const ResolvedPath from, resolve_path(request.path));
  TRY(const ResolvedPath to, resolve_creating_parents(request.target, Owner{}));
  CopyCounts copied;
  auto outcome = copy_tree(from, to, request.recursive ? Trees::kCopy : Trees::kRefuse,
                           request.overwrite ? Replace::kYes : Replace::kNo, copied);
  link.done.bytes = copied.bytes;
  link.done.entries = copied.entries;
  if (!outcome) return outcome;
  return read_target(link, to);
}

}  // namespace glovebox::agent
