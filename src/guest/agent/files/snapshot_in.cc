// A snapshot back into a new session's sandbox, before anything else has run there. The archive was
// made by a guest: nothing in it can lead out of this sandbox's own writable layers. Where it has
// links in place of directories that programs expect, like /home/user or /etc, the guest sees
// links there, as it made them; programs that are started later resolve them inside.
#include <fcntl.h>

#include "guest/agent/files/archive_source.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "guest/agent/files/unpacker.h"

namespace glovebox::agent {

Result<> snapshot_in(HelperLink& link) {
  TRY(UniqueFd top, open_path(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
  TRY(UniqueFd usr, open_child(top.get(), "usr"));
  TRY_OK(link.opened());
  Unpacker unpacker(std::move(top), std::move(usr), UnpackRules{.snapshot = true});
  return unpack_archive(link, unpacker);
}

}  // namespace glovebox::agent
