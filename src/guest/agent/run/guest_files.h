// Files into and out of the sandbox, opened inside it with the guest user's rights. Nothing here
// blocks on what a guest prepared: no FIFO, no device, no file of /proc.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// While it lives, this process opens files as the guest's user and not as root inside.
class AsGuestUser {
 public:
  explicit AsGuestUser(bool change_user);
  AsGuestUser(bool change_user, uid_t uid, gid_t gid);
  ~AsGuestUser();
  AsGuestUser(const AsGuestUser&) = delete;
  AsGuestUser& operator=(const AsGuestUser&) = delete;

 private:
  bool changed_;
};

// Made or truncated, parents made on the way (0755).
Result<UniqueFd> create_guest_file(const std::string& path, unsigned mode);
// A regular file, for reading.
Result<UniqueFd> open_guest_file(const std::string& path);

}  // namespace glovebox::agent
