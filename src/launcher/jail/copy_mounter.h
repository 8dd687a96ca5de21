// Mounts of the copies that root inside owns where the host's files cannot be idmapped: of the
// sessions of an ordinary user's launcher. From Linux 6.3 on, one tmpfs is shown to every session
// with its own root as the owner; before, each session has a tmpfs of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/layers/root_copies.h"

namespace glovebox::launcher {

// Detached, and read-only.
struct CopyMounts {
  UniqueFd root;
  UniqueFd usr;
};

class CopyMounter {
 public:
  // `scratch`: a directory of a tmpfs of the launcher's own mount namespace, which outlives this
  // object and takes what is mounted below it along when it is detached.
  explicit CopyMounter(std::string scratch) : scratch_(std::move(scratch)) {}

  // `host_uid`: the number of the session's root in our user namespace; `userns`: the session's.
  Result<CopyMounts> mount_for(const std::string& layer, std::uint32_t host_uid, int userns);
  // The host's files have changed: the next copies are made anew. Mounts that exist stay.
  void clear();

 private:
  Result<CopyMounts> mount_shared(const std::string& layer, int userns);
  Result<CopyMounts> mount_own(const std::string& layer, std::uint32_t host_uid) const;

  std::string scratch_;
  bool can_share_ = true;  // until the kernel has refused
  std::optional<RootCopies> shared_;
};

}  // namespace glovebox::launcher
