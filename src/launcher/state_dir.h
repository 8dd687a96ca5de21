// A launcher's identity on this host: an id and a locked file. Everything a launcher makes
// that outlives a process carries the id, so that the next launcher can clean up after one that was
// killed, and can tell it from a live one by the lock alone.
#pragma once

#include <string>

#include "base/id.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "sys/cgroup.h"

namespace glovebox::launcher {

class StateDir {
 public:
  // Below `base` (made if missing, 0711): "<base>/<id>", locked for as long as this object lives. A
  // file, because ext4 takes up to a millisecond to let go of a removed directory.
  static Result<StateDir> claim(const std::string& base);
  StateDir(StateDir&&) = default;
  StateDir& operator=(StateDir&&) = default;
  ~StateDir();
  // Removes the file and gives up the lock; the destructor does the same.
  void remove();

  const LauncherId& id() const { return id_; }
  const std::string& path() const { return path_; }
  const std::string& base() const { return base_; }
  // An empty directory over which each launcher mounts in its own mount namespace.
  std::string scratch() const;
  // The private directory of a process-engine sandbox; for root not in /run, which may be noexec.
  std::string home_of(const SandboxId& sandbox) const;
  // With this begin the names of all its cgroups.
  std::string cgroup_prefix() const;
  // The name of a sandbox's cgroup.
  std::string cgroup_name(const SandboxId& sandbox) const;
  // The name of the v2 cgroup that contains its nurseries and the cgroups of its sandboxes.
  std::string family_name() const;

 private:
  StateDir(std::string base, LauncherId id, UniqueFd lock)
      : base_(std::move(base)),
        id_(std::move(id)),
        path_(base_ + "/" + id_.str()),
        lock_(std::move(lock)) {}
  std::string base_;
  LauncherId id_;
  std::string path_;
  UniqueFd lock_;
};

// Removes what dead launchers left below `base` and in the cgroup hierarchies: only what belongs to
// an id whose lock is free. Returns how many launchers it cleaned up after.
int sweep_dead_launchers(const std::string& base, const sys::CgroupRoots& roots);

// Where the private directories of process-engine sandboxes are.
std::string homes_below(const std::string& base);

// /run/glovebox for root, the user's runtime directory otherwise.
std::string default_state_base();

// Where all launchers of an ordinary user lease its subordinate ids from each other. Unlike the
// runtime directory it does not depend on the environment: two launchers with two files would give
// out the same ids. To be called before the launcher enters a user namespace.
std::string own_leases_dir();
// The file there, in directories that are made if they are missing.
Result<std::string> make_leases_file(const std::string& dir);

}  // namespace glovebox::launcher
