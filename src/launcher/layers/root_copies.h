// What a sandbox's root has to own so that sudo and package managers work: the host layer's files,
// every directory of /usr, and the setuid programs there. A launcher of root shows all host files
// with their owners by idmapping them. An ordinary user's launcher may not; it makes copies of
// these, in a tmpfs that only its own mount namespace has, and leaves everything else as nobody's.
//
// Setuid programs are set for the sandbox's root only: the kernel honours the bit in the launcher's
// user namespace and below, and no other process can reach the tmpfs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox::launcher {

struct RootCopies {
  std::string root;  // to be stacked above the host layer
  std::string usr;   // to be stacked above the host's /usr
};

// Fills the empty directory `place`. The copies belong to `owner`, as this process numbers uids.
// What the launcher cannot read is left out.
Result<RootCopies> make_root_copies(const std::string& place, const std::string& host_layer,
                                    const std::string& usr, std::uint32_t owner);

}  // namespace glovebox::launcher
