// Removing, as requests ask for it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/agent/files/operations.h"
#include "guest/agent/files/remove_tree.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {

Result<> remove_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  TRY(const ResolvedPath resolved, resolve_path(request.path));
  struct stat info {};
  if (::fstatat(resolved.dir.get(), resolved.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_with(errno);
  }
  if (request.recursive) {
    return remove_tree_at(resolved.dir.get(), resolved.name, OtherMounts::kEnter,
                          link.done.entries);
  }
  const int kind = S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(resolved.dir.get(), resolved.name.c_str(), kind) != 0) return fail_with(errno);
  link.done.entries = 1;
  return {};
}

}  // namespace glovebox::agent
