// Opens files for uploads and downloads, inside the sandbox with the guest user's rights. Never
// blocks on what a guest prepared: no FIFO, no device, no file in /proc.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::agent {

// While this object exists, the process opens files as the guest's user and not as root inside.
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

// Created or truncated; missing parents are created (0755).
Result<UniqueFd> create_guest_file(const std::string& path, unsigned mode);
// A regular file, for reading.
Result<UniqueFd> open_guest_file(const std::string& path);

}  // namespace glovebox::agent
