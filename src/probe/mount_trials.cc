#include "probe/mount_trials.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace glovebox::probe {

namespace {

constexpr const char* kSliceMap = "0 1879048192 65536";
constexpr uid_t kSliceStart = 1879048192;

std::string workbench(const char* name) { return std::string(kTrialDir) + "/" + name; }

bool set(const UniqueFd& context, const char* key, const std::string& value) {
  return ::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) == 0;
}

// Creates and takes the mount of a configured context; its descriptor is the value.
Attempt finish(const UniqueFd& context, const std::string& what) {
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Attempt::failed("create " + what);
  }
  const int mount = ::fsmount(context.get(), FSMOUNT_CLOEXEC, 0);
  if (mount < 0) return Attempt::failed("mount " + what);
  return Attempt::worked(mount);
}

// /usr, cloned and idmapped to a slice; its descriptor is the value.
Attempt clone_idmapped_usr() {
  const Result<ParkedChild> child = ParkedChild::start(CLONE_NEWUSER);
  if (!child) return Attempt::failed("create a user namespace", child.error().sys_errno());
  if (const Result<> mapped = child->map_ids(kSliceMap, kSliceMap); !mapped) {
    return Attempt::failed("map a slice", mapped.error().sys_errno());
  }
  const Result<UniqueFd> user = child->open_namespace("user");
  if (!user) return Attempt::failed("open the user namespace", user.error().sys_errno());

  UniqueFd tree(::open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree) return Attempt::failed("open_tree /usr");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV;
  attributes.userns_fd = static_cast<__u64>(user->get());
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
    return Attempt::failed(kIdmapStep);
  }
  return Attempt::worked(tree.release());
}

// Root's /usr/bin must look like the slice's root owned it.
Attempt owner_is_the_slice(int directory, const char* path) {
  struct stat seen {};
  if (::fstatat(directory, path, &seen, AT_EMPTY_PATH) != 0) return Attempt::failed("stat /usr");
  if (seen.st_uid != kSliceStart) return Attempt::failed("mounted, but owners are not mapped", -1);
  return Attempt::worked();
}

}  // namespace

Attempt mount_workbench() {
  if (::mount("tmpfs", kTrialDir, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=64") != 0) {
    return Attempt::failed(std::string("mount a tmpfs at ") + kTrialDir);
  }
  for (const char* name : {"lower", "upper", "work"}) {
    if (::mkdir(workbench(name).c_str(), 0755) != 0) return Attempt::failed("mkdir");
  }
  return Attempt::worked();
}

Attempt make_detached_overlay(const std::string& lower) {
  const UniqueFd context(::fsopen("overlay", FSOPEN_CLOEXEC));
  if (!context) return Attempt::failed("fsopen overlay");
  if (!set(context, "lowerdir", lower) || !set(context, "upperdir", workbench("upper")) ||
      !set(context, "workdir", workbench("work"))) {
    return Attempt::failed("configure overlay");
  }
  return finish(context, "overlay");
}

Attempt try_tmpfs(Way way) {
  if (Attempt entered = enter_private_mounts(way); !entered.ok()) return entered;
  const UniqueFd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context) return Attempt::failed("fsopen tmpfs");
  if (!set(context, "size", "64k") || !set(context, "nr_inodes", "8")) {
    return Attempt::failed("configure tmpfs");
  }
  const Attempt made = finish(context, "tmpfs");
  if (!made.ok()) return made;
  const UniqueFd root(static_cast<int>(made.value));
  // The limits must bite: 8 inodes are fewer than 16 files.
  for (int i = 0; i < 16; ++i) {
    const std::string name = "file" + std::to_string(i);
    const UniqueFd file(::openat(root.get(), name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (!file) {
      return errno == ENOSPC ? Attempt::worked() : Attempt::failed("create a file");
    }
  }
  return Attempt::failed("the inode limit is not enforced", -1);
}

Attempt try_overlay(Way way) {
  if (Attempt entered = enter_private_mounts(way); !entered.ok()) return entered;
  if (Attempt bench = mount_workbench(); !bench.ok()) return bench;
  const Attempt made = make_detached_overlay("/usr");
  if (!made.ok()) return made;
  const UniqueFd root(static_cast<int>(made.value));
  if (::mkdirat(root.get(), "glovebox-trial", 0755) != 0) return Attempt::failed("write to it");
  struct stat seen {};
  if (::fstatat(root.get(), "bin", &seen, 0) != 0) return Attempt::failed("see /usr in it");
  return Attempt::worked();
}

Attempt try_idmapped_usr() {
  if (Attempt entered = enter_private_mounts(Way::kDirect); !entered.ok()) return entered;
  const Attempt made = clone_idmapped_usr();
  if (!made.ok()) return made;
  const UniqueFd tree(static_cast<int>(made.value));
  return owner_is_the_slice(tree.get(), "bin");
}

Attempt try_overlay_on_idmapped_usr() {
  if (Attempt entered = enter_private_mounts(Way::kDirect); !entered.ok()) return entered;
  if (Attempt bench = mount_workbench(); !bench.ok()) return bench;
  const Attempt layer = clone_idmapped_usr();
  if (!layer.ok()) return layer;
  const UniqueFd tree(static_cast<int>(layer.value));
  if (::move_mount(tree.get(), "", AT_FDCWD, workbench("lower").c_str(), MOVE_MOUNT_F_EMPTY_PATH) !=
      0) {
    return Attempt::failed("attach the layer");
  }
  const Attempt made = make_detached_overlay(workbench("lower"));
  if (!made.ok()) return made;
  const UniqueFd root(static_cast<int>(made.value));
  return owner_is_the_slice(root.get(), "bin");
}

Attempt try_proc_of_another_pid_namespace() {
  if (Attempt entered = enter_private_mounts(Way::kDirect); !entered.ok()) return entered;
  const Result<ParkedChild> child = ParkedChild::start(CLONE_NEWPID);
  if (!child) return Attempt::failed("create a pid namespace", child.error().sys_errno());
  const Result<UniqueFd> pids = child->open_namespace("pid");
  if (!pids) return Attempt::failed("open the pid namespace", pids.error().sys_errno());

  const UniqueFd context(::fsopen("proc", FSOPEN_CLOEXEC));
  if (!context) return Attempt::failed("fsopen proc");
  if (::fsconfig(context.get(), FSCONFIG_SET_FD, "pidns", nullptr, pids->get()) != 0) {
    return Attempt::failed("fsconfig pidns");
  }
  const Attempt made = finish(context, "proc");
  if (!made.ok()) return made;
  const UniqueFd root(static_cast<int>(made.value));
  // It must show the child as 1, and not us.
  struct stat seen {};
  if (::fstatat(root.get(), "1", &seen, 0) != 0) return Attempt::failed("see pid 1 in it");
  const std::string ours = std::to_string(::getpid());
  if (ours != "1" && ::fstatat(root.get(), ours.c_str(), &seen, 0) == 0) {
    return Attempt::failed("it shows the wrong pid namespace", -1);
  }
  return Attempt::worked();
}

}  // namespace glovebox::probe
