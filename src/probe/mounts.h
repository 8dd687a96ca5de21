// What a jail's root is made of: tmpfs, overlay, idmapped layers, proc. Each is mounted in a
// private mount namespace of a helper, so that nothing reaches the host.
#pragma once

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct MountFacts {
  bool is_root = false;
  Attempt tmpfs{};    // with a size and an inode limit that hold
  Attempt overlay{};  // by the way open to this user
  Attempt overlay_in_userns{};
  Attempt idmapped{};  // of /usr, owner looked at
  Attempt overlay_on_idmapped{};
  Attempt proc_of_a_pidns{};  // fsconfig "pidns"
  bool root_is_overlay = false;
  bool usr_is_merged = false;  // /bin and /lib are links into /usr
};

MountFacts probe_mounts();
void explain(const MountFacts& facts, Findings& findings);

}  // namespace glovebox::probe
