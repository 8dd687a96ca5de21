#include "launcher/jail/root_builder.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "launcher/jail/idmap.h"
#include "launcher/jail/made_files.h"
#include "sys/mount.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr std::uint64_t kLayerFlags = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kRootFlags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr std::uint64_t kSessionFlags = MOUNT_ATTR_NODEV;

constexpr std::uint64_t kBootIdFlags =
    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

// A mount can be cloned only from our own mount namespace, and the client's descriptor is from its
// own. So the file is reopened by its path and must be the same one.
Result<UniqueFd> same_in_our_namespace(int client_fd) {
  char name[4096];
  const ssize_t size = ::readlink(sys::fd_path(client_fd).c_str(), name, sizeof name - 1);
  if (size <= 0) return fail(Error::from_errno("read the path of a mount's source"));
  const std::string path(name, static_cast<std::size_t>(size));
  UniqueFd here(::open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
  struct stat theirs {};
  struct stat ours {};
  if (!here || ::fstat(client_fd, &theirs) != 0 || ::fstat(here.get(), &ours) != 0) {
    return fail(Error::from_errno("reopen the mount's source " + path));
  }
  if (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino) {
    return fail(Errc::kNotFound,
                path + " is a different file for the launcher than for the caller");
  }
  return here;
}

bool has_modules(const std::vector<std::string>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const std::string& layer) {
    struct stat info {};
    return ::lstat((layer + "/node_modules").c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  });
}

std::vector<sys::MountOption> overlay_options(const Owner& owner) {
  std::vector<sys::MountOption> options;
  if (!owner.own_slice || owner.rootless) options.emplace_back("userxattr", "");
  // The same inode numbers in a directory's list and in stat(). Only for sessions: the kernel logs
  // a line for each such mount, and a host makes hundreds of runs a second.
  if (owner.kind == RootKind::kSession) options.emplace_back("xino", "on");
  return options;
}

UniqueFd open_in(const UniqueFd& mount, const char* name) {
  return UniqueFd(::openat(mount.get(), name, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> size_options(const Limits& limits) {
  return {{"size", std::to_string(limits.disk_bytes)},
          {"nr_inodes", std::to_string(limits.disk_inodes)}};
}

Result<RootBuilder> RootBuilder::open(const std::string& scratch, HostLayers host) {
  TRY(const UniqueFd tmpfs,
      sys::new_mount("tmpfs", {{"size", "1m"}, {"mode", "0700"}}, MOUNT_ATTR_NOSUID));
  TRY_OK(sys::attach_mount(tmpfs.get(), AT_FDCWD, scratch));
  RootBuilder builder(scratch, std::move(host));
  for (const char* name : {"usr-base", "empty", "dev"}) {
    TRY_OK(make_dir(AT_FDCWD, scratch + "/" + name, 0755, 0, false));
  }
  TRY_OK(make_dir(AT_FDCWD, scratch + "/usr-base/bin", 0755, 0, false));
  // Below the host's /usr, so that a host that has a python of its own keeps it.
  if (::symlink("python3", (scratch + "/usr-base/bin/python").c_str()) != 0) {
    return fail(Error::from_errno("link python to python3"));
  }
  TRY(MinimalDev dev, MinimalDev::open(scratch + "/dev"));
  builder.dev_.emplace(std::move(dev));
  // A mount of its own, so that the guest's mountinfo shows "/" and not our path.
  TRY(builder.usr_base_,
      sys::clone_mount(AT_FDCWD, scratch + "/usr-base", sys::Submounts::kLeaveOut));
  TRY(builder.empty_, sys::clone_mount(AT_FDCWD, scratch + "/empty", sys::Submounts::kLeaveOut));
  return builder;
}

RootBuilder::~RootBuilder() {
  if (!scratch_) return;
  (void)!::chdir("/");
  (void)sys::detach(scratch());
}

Result<UniqueFd> RootBuilder::idmapped_layer(const std::string& path, const Owner& owner,
                                             bool& idmapped) {
  TRY(UniqueFd layer, sys::clone_mount(AT_FDCWD, path, sys::Submounts::kLeaveOut));
  if (owner.own_slice && !owner.rootless) {
    auto done =
        sys::restrict_mount(layer.get(), kLayerFlags, sys::Submounts::kLeaveOut, owner.userns);
    if (done) return layer;
    // Some filesystems cannot be idmapped (overlayfs, older network filesystems). Their files then
    // appear as owned by the overflow uid; they stay readable, and the wall is reported as missing.
    if (done.error().sys_errno() != EINVAL && done.error().sys_errno() != EOPNOTSUPP) {
      return fail(std::move(done.error()));
    }
  }
  idmapped = false;
  TRY_OK(sys::restrict_mount(layer.get(), kLayerFlags, sys::Submounts::kLeaveOut));
  return layer;
}

// The writable directories, with the right owner whether or not the layers are idmapped.
Result<> RootBuilder::make_upper(int tmpfs, const Owner& owner) const {
  const std::uint32_t root = owner.host_uid;
  const std::uint32_t user = owner.own_slice ? root + kGuestUser : root;
  const bool chown = owner.own_slice;
  TRY_OK(make_boot_id(tmpfs, root, chown));
  TRY_OK(make_dir(tmpfs, "upper", 0755, root, chown));
  TRY_OK(make_dir(tmpfs, "work", 0755, root, chown));
  TRY_OK(make_dir(tmpfs, "shm", 01777, root, chown));
  if (owner.kind == RootKind::kSession) {
    TRY_OK(make_dir(tmpfs, "usr-upper", 0755, root, chown));
    TRY_OK(make_dir(tmpfs, "usr-work", 0755, root, chown));
  }
  TRY_OK(make_dir(tmpfs, "upper/tmp", 01777, root, chown));
  TRY_OK(make_dir(tmpfs, "upper/home", 0755, root, chown));
  return make_dir(tmpfs, "upper/home/user", 0755, user, chown);
}

TemporaryMounts::~TemporaryMounts() {
  for (const std::string& path : paths_) (void)sys::detach(path);
}

Result<UniqueFd> RootBuilder::build_upper(const Limits& limits, const Owner& owner) const {
  std::vector<sys::MountOption> options = size_options(limits);
  options.emplace_back("mode", "0755");
  TRY(UniqueFd upper, sys::new_mount("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  TRY_OK(make_upper(upper.get(), owner));
  return upper;
}

Result<SandboxMounts> RootBuilder::build(UniqueFd upper, const Owner& owner,
                                         const std::vector<std::string>& layers,
                                         const std::string& image) {
  SandboxMounts mounts;
  mounts.is_image = !image.empty();
  mounts.upper = std::move(upper);
  mounts.idmapped = true;
  const bool keeps = owner.keeps_lower && owner.own_slice && owner.kind == RootKind::kRun &&
                     layers.empty() && image.empty() && can_use_detached_ && can_keep_;
  if (const KeptLower* kept =
          keeps ? kept_.find(owner.host_uid, KeptLowers::Clock::now()) : nullptr) {
    TRY_OK(build_from_kept(mounts, *kept, owner));
    return mounts;
  }
  std::vector<UniqueFd> lower;  // the topmost first
  std::vector<UniqueFd> usr;    // likewise
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    TRY(UniqueFd fd, idmapped_layer(*layer, owner, mounts.idmapped));
    lower.push_back(std::move(fd));
    struct stat info {};
    if (::lstat((*layer + "/usr").c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    TRY(UniqueFd its_usr, idmapped_layer(*layer + "/usr", owner, mounts.idmapped));
    usr.push_back(std::move(its_usr));
  }
  TRY_OK(image.empty() ? add_host_layers(mounts, owner, lower, usr)
                       : add_image(image, mounts, owner, lower, usr));
  if (mounts.is_image)
    TRY_OK(make_image_files(mounts.upper.get(), owner.host_uid, owner.own_slice));
  if (owner.kind == RootKind::kSession && has_modules(layers)) {
    // npm takes the nearest parent with node_modules for the project; without this one it would be
    // "/", where a layer has its own.
    const std::uint32_t user = owner.own_slice ? owner.host_uid + kGuestUser : owner.host_uid;
    TRY_OK(
        make_dir(mounts.upper.get(), "upper/home/user/node_modules", 0755, user, owner.own_slice));
  }
  if (can_use_detached_ && build_detached(mounts, lower, usr, owner)) {
    if (keeps && mounts.idmapped) keep(mounts, std::move(lower.back()), owner);
    mounts.layers = std::move(lower);
    std::move(usr.begin(), usr.end(), std::back_inserter(mounts.layers));
    return mounts;
  }
  can_use_detached_ = false;
  TRY_OK(build_attached(mounts, lower, usr, owner));
  return mounts;
}

Result<> RootBuilder::add_host_layers(SandboxMounts& mounts, const Owner& owner,
                                      std::vector<UniqueFd>& lower, std::vector<UniqueFd>& usr) {
  if (owner.rootless && owner.own_slice && owner.kind == RootKind::kSession) {
    TRY(CopyMounts copies, copies_.mount_for(host_.host, owner.host_uid, owner.userns));
    lower.push_back(std::move(copies.root));
    usr.push_back(std::move(copies.usr));
    mounts.has_copies = true;
  }
  TRY(UniqueFd skeleton, idmapped_layer(host_.host, owner, mounts.idmapped));
  lower.push_back(std::move(skeleton));
  TRY(UniqueFd hosts_usr, idmapped_layer("/usr", owner, mounts.idmapped));
  usr.push_back(std::move(hosts_usr));
  return {};
}

// Our agent wrote the tree, from an untrusted archive.
Result<> RootBuilder::add_image(const std::string& image, SandboxMounts& mounts, const Owner& owner,
                                std::vector<UniqueFd>& lower, std::vector<UniqueFd>& usr) {
  for (const char* name : {"/usr", "/proc", "/dev"}) {
    struct stat info {};
    if (::lstat((image + name).c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
      return fail(Errc::kPolicy, std::string("the image has no directory ") + name);
    }
  }
  TRY(UniqueFd runtimes, idmapped_layer(host_.runtimes, owner, mounts.idmapped));
  lower.push_back(std::move(runtimes));
  TRY(UniqueFd root, idmapped_layer(image, owner, mounts.idmapped));
  lower.push_back(std::move(root));
  TRY(UniqueFd its_usr, idmapped_layer(image + "/usr", owner, mounts.idmapped));
  usr.push_back(std::move(its_usr));
  return {};
}

// The mounts of an earlier run of the same slice, which were mapped and restricted as this one's
// would be. An overlay without an upper directory is read-only whatever a guest may do.
Result<> RootBuilder::build_from_kept(SandboxMounts& mounts, const KeptLower& kept,
                                      const Owner& owner) const {
  const int lower[] = {kept.skeleton.get()};
  TRY_OK(build_root(mounts, lower, owner));
  TRY(mounts.usr, sys::clone_mount(kept.usr.get(), "", sys::Submounts::kLeaveOut));
  return build_shared_memory(mounts);
}

// Gives the sandbox a clone of its /usr and keeps the original. Kernels before 6.15 cannot clone
// what is not attached.
void RootBuilder::keep(SandboxMounts& mounts, UniqueFd skeleton, const Owner& owner) {
  auto clone = sys::clone_mount(mounts.usr.get(), "", sys::Submounts::kLeaveOut);
  if (!clone) {
    can_keep_ = false;
    return;
  }
  kept_.add(owner.host_uid, {std::move(skeleton), std::exchange(mounts.usr, std::move(*clone))},
            KeptLowers::Clock::now());
}

namespace {

// The directories of a scratch, in the order of wire::kScratchPlaces.
struct ScratchDirectory {
  const char* name;
  mode_t mode;
};
constexpr ScratchDirectory kScratchDirectories[] = {
    {"home", 0755}, {"tmp", 01777}, {"var-tmp", 01777}, {"shm", 01777}};
static_assert(std::size(kScratchDirectories) == std::size(wire::kScratchPlaces));

}  // namespace

Result<std::vector<UniqueFd>> RootBuilder::build_scratch(const Limits& limits,
                                                         const Owner& owner) const {
  std::vector<sys::MountOption> options = size_options(limits);
  options.emplace_back("mode", "0755");
  TRY(UniqueFd tmpfs, sys::new_mount("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  const std::uint32_t root = owner.host_uid;
  const bool chown = owner.own_slice;
  for (const ScratchDirectory& one : kScratchDirectories) {
    TRY_OK(make_dir(tmpfs.get(), one.name, one.mode, root, chown));
  }
  TRY_OK(make_dir(tmpfs.get(), "home/user", 0755, chown ? root + kGuestUser : root, chown));
  TRY(std::vector<UniqueFd> fds, scratch_places(tmpfs.get()));
  fds.push_back(std::move(tmpfs));
  return fds;
}

Result<std::vector<UniqueFd>> RootBuilder::scratch_places(int tmpfs) const {
  // Kernels before 6.15 clone no part of what is not attached anywhere.
  const std::string path = scratch() + "/scratch";
  TemporaryMounts attached;
  if (!can_use_detached_) {
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
      return fail(Error::from_errno("create " + path));
    }
    TRY_OK(sys::attach_mount(tmpfs, AT_FDCWD, path));
    attached.add(path);
  }
  std::vector<UniqueFd> places;
  for (const ScratchDirectory& one : kScratchDirectories) {
    TRY(UniqueFd place,
        can_use_detached_
            ? sys::clone_mount(tmpfs, one.name, sys::Submounts::kLeaveOut)
            : sys::clone_mount(AT_FDCWD, path + "/" + one.name, sys::Submounts::kLeaveOut));
    places.push_back(std::move(place));
  }
  return places;
}

// Attaches nothing: saves three mounts and three umounts, each of which waits for an RCU grace
// period.
Result<> RootBuilder::build_detached(SandboxMounts& mounts, std::span<const UniqueFd> lower,
                                     std::span<const UniqueFd> usr, const Owner& owner) const {
  std::vector<int> layers;
  for (const UniqueFd& layer : lower) layers.push_back(layer.get());
  TRY_OK(build_root(mounts, layers, owner));
  TRY_OK(build_usr(mounts, usr, owner));
  return build_shared_memory(mounts);
}

Result<> RootBuilder::build_root(SandboxMounts& mounts, std::span<const int> lower,
                                 const Owner& owner) const {
  const UniqueFd upper = open_in(mounts.upper, "upper");
  const UniqueFd work = open_in(mounts.upper, "work");
  if (!upper || !work) return fail(Error::from_errno("open the upper directory"));
  sys::OverlayByFd root{.lower = {}, .upper = upper.get(), .work = work.get()};
  root.lower.assign(lower.begin(), lower.end());
  root.options = overlay_options(owner);
  const bool session = owner.kind == RootKind::kSession;
  TRY(mounts.root, sys::new_overlay(root, session ? kSessionFlags : kRootFlags));
  return {};
}

Result<> RootBuilder::build_usr(SandboxMounts& mounts, std::span<const UniqueFd> usr,
                                const Owner& owner) const {
  sys::OverlayByFd over_usr{.lower = {}};
  for (const UniqueFd& layer : usr) over_usr.lower.push_back(layer.get());
  over_usr.lower.push_back(mounts.is_image ? empty_.get() : usr_base_.get());
  UniqueFd usr_upper;
  UniqueFd usr_work;
  const bool session = owner.kind == RootKind::kSession;
  if (session) {
    usr_upper = open_in(mounts.upper, "usr-upper");
    usr_work = open_in(mounts.upper, "usr-work");
    if (!usr_upper || !usr_work) return fail(Error::from_errno("open the upper directory of /usr"));
    over_usr.upper = usr_upper.get();
    over_usr.work = usr_work.get();
    over_usr.options = overlay_options(owner);
  }
  TRY(mounts.usr, sys::new_overlay(over_usr, session ? kSessionFlags : kLayerFlags));
  return {};
}

Result<> RootBuilder::build_shared_memory(SandboxMounts& mounts) const {
  TRY(mounts.shm, sys::clone_mount(mounts.upper.get(), "shm", sys::Submounts::kLeaveOut));
  TRY(mounts.boot_id, sys::clone_mount(mounts.upper.get(), kBootIdFile, sys::Submounts::kLeaveOut));
  return sys::restrict_mount(mounts.boot_id.get(), kBootIdFlags, sys::Submounts::kLeaveOut);
}

// Kernels before 6.15 accept only attached directories as overlay layers, so they are attached in
// our own mount namespace meanwhile.
Result<> RootBuilder::build_attached(SandboxMounts& mounts, std::span<const UniqueFd> lower,
                                     std::span<const UniqueFd> usr, const Owner& owner) const {
  const auto attach = [&](int mount, const std::string& name) -> Result<> {
    const std::string path = scratch() + "/" + name;
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
      return fail(Error::from_errno("create " + path));
    }
    TRY_OK(sys::attach_mount(mount, AT_FDCWD, path));
    mounts.attached.add(path);
    return {};
  };
  std::string names;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const std::string name = "layer" + std::to_string(i);
    TRY_OK(attach(lower[i].get(), name));
    names += (names.empty() ? "" : ":") + name;
  }
  std::string usr_names;
  for (std::size_t i = 0; i < usr.size(); ++i) {
    const std::string name = "usr" + std::to_string(i);
    TRY_OK(attach(usr[i].get(), name));
    usr_names += name + ":";
  }
  TRY_OK(attach(mounts.upper.get(), "up"));
  // Relative paths, because the guest sees these options in its mountinfo.
  if (::chdir(scratch().c_str()) != 0) return fail(Error::from_errno("chdir to " + scratch()));
  std::vector<sys::MountOption> root_options = {
      {"lowerdir", names}, {"upperdir", "up/upper"}, {"workdir", "up/work"}};
  const std::vector<sys::MountOption> more_options = overlay_options(owner);
  root_options.insert(root_options.end(), more_options.begin(), more_options.end());
  const bool session = owner.kind == RootKind::kSession;
  TRY(mounts.root, sys::new_mount("overlay", root_options, session ? kSessionFlags : kRootFlags));
  // Not a bind mount: an overlay without an upper directory is always read-only, so that even a
  // guest with every capability inside could not make the host's files writable. A session's writes
  // go to its own upper directory.
  std::vector<sys::MountOption> usr_options = {
      {"lowerdir", usr_names + (mounts.is_image ? "empty" : "usr-base")}};
  if (session) {
    usr_options.emplace_back("upperdir", "up/usr-upper");
    usr_options.emplace_back("workdir", "up/usr-work");
    usr_options.insert(usr_options.end(), more_options.begin(), more_options.end());
  }
  TRY(mounts.usr, sys::new_mount("overlay", usr_options, session ? kSessionFlags : kLayerFlags));
  TRY(mounts.shm, sys::clone_mount(AT_FDCWD, scratch() + "/up/shm", sys::Submounts::kLeaveOut));
  TRY(mounts.boot_id,
      sys::clone_mount(AT_FDCWD, scratch() + "/up/" + kBootIdFile, sys::Submounts::kLeaveOut));
  return sys::restrict_mount(mounts.boot_id.get(), kBootIdFlags, sys::Submounts::kLeaveOut);
}

Result<UniqueFd> RootBuilder::build_layer(const std::string& tree, MountMode mode,
                                          const Owner& owner) const {
  TRY(UniqueFd mount, sys::clone_mount(AT_FDCWD, tree, sys::Submounts::kLeaveOut));
  std::uint64_t flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  if (mode == MountMode::kReadOnly) flags |= MOUNT_ATTR_RDONLY;
  const int mapping = owner.own_slice ? owner.userns : -1;
  auto done = sys::restrict_mount(mount.get(), flags, sys::Submounts::kLeaveOut, mapping);
  if (done) return mount;
  const int error = done.error().sys_errno();
  if (mapping < 0 || (error != EINVAL && error != EOPNOTSUPP)) return fail(std::move(done.error()));
  return fail(Error(Errc::kUnsupported,
                    "the filesystem of " + tree +
                        " does not support idmapped mounts, which layers need: put the layers "
                        "directory on ext4, xfs or btrfs",
                    error));
}

Result<UniqueFd> RootBuilder::build_mount(int host_fd, MountMode mode, HostUser mapped,
                                          std::uint32_t guest_host_uid) {
  TRY(const UniqueFd here, same_in_our_namespace(host_fd));
  auto cloned = sys::clone_mount(here.get(), "", sys::Submounts::kLeaveOut);
  if (!cloned && cloned.error().sys_errno() == EINVAL) {
    // In a user namespace, the kernel does not show what the host's mounts cover.
    return fail(Errc::kUnsupported,
                "the directory has other mounts below it, so only root can mount it in a sandbox; "
                "mount a directory without mounts below it, or start glovebox as root");
  }
  TRY(UniqueFd tree, std::move(cloned));
  std::uint64_t flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (mode == MountMode::kReadOnly) flags |= MOUNT_ATTR_RDONLY;
  if (mapped.uid != 0 && mapped.uid != guest_host_uid) {
    TRY(const UniqueFd userns, make_idmap_namespace(mapped, guest_host_uid));
    auto done = sys::restrict_mount(tree.get(), flags, sys::Submounts::kLeaveOut, userns.get());
    if (done) return tree;
    // Without the mapping a guest's files would be a slice's uid on a host disk: never.
    if (mode == MountMode::kReadWrite) return fail(std::move(done.error()));
  }
  TRY_OK(sys::restrict_mount(tree.get(), flags, sys::Submounts::kLeaveOut));
  return tree;
}

}  // namespace glovebox::launcher
