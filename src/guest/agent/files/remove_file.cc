// Removing, as requests ask for it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/remove_tree.h"

namespace glovebox::agent {

Result<> remove_file(HelperLink& link) {
  const wire::FileRequest& request = link.request();
  TRY(const Place place, find_place(request.path));
  struct stat info {};
  if (::fstatat(place.dir.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_with(errno);
  }
  if (request.recursive) {
    return remove_tree_at(place.dir.get(), place.name, OtherMounts::kEnter, link.done.entries);
  }
  const int kind = S_ISDIR(info.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(place.dir.get(), place.name.c_str(), kind) != 0) return fail_with(errno);
  link.done.entries = 1;
  return {};
}

}  // namespace glovebox::agent
