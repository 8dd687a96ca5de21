// Builds the filesystem of a sandbox: an overlay of the read-only layers with a size-limited tmpfs
// on top, the host's /usr, and a minimal /dev. All are detached mounts, which the sandbox's first
// process attaches; none appears in the host's mount namespace.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/copy_mounter.h"
#include "launcher/jail/idmap.h"
#include "launcher/jail/kept_lower.h"
#include "launcher/jail/minimal_dev.h"
#include "launcher/layers/host_layer.h"
#include "model/limits.h"
#include "model/sandbox_spec.h"

namespace glovebox::launcher {

// Layers that are attached in the launcher's mount namespace while the overlays are built; detached
// by the destructor.
class TemporaryMounts {
 public:
  TemporaryMounts() = default;
  TemporaryMounts(TemporaryMounts&& other) noexcept : paths_(std::exchange(other.paths_, {})) {}
  TemporaryMounts& operator=(TemporaryMounts&&) = delete;
  ~TemporaryMounts();
  void add(std::string path) { paths_.push_back(std::move(path)); }

 private:
  std::vector<std::string> paths_;
};

struct SandboxMounts {
  UniqueFd root;
  UniqueFd usr;
  UniqueFd shm;
  UniqueFd boot_id;         // a file with a boot id of its own
  UniqueFd upper;           // the writable tmpfs: its size may change when the sandbox is taken
  bool idmapped = false;    // host files keep their owners inside
  bool is_image = false;    // nothing of the host's is in it
  bool has_copies = false;  // instead, what root must own is copied for it
  // Both are let go after the sandbox was served: each close and umount waits for an RCU grace
  // period.
  TemporaryMounts attached;
  std::vector<UniqueFd> layers;
};

// The limits of a sandbox's writable filesystem, as mount options of a tmpfs.
std::vector<std::pair<std::string, std::string>> size_options(const Limits& limits);

// A session may write to its own /usr and use setuid programs.
enum class RootKind : bool { kRun, kSession };

struct Owner {
  std::uint32_t host_uid = 0;  // of the sandbox's root
  int userns = -1;             // borrowed; for idmapping the layers
  bool own_slice = false;
  // The launcher is an ordinary user's: it may not idmap the host's files.
  bool rootless = false;
  RootKind kind = RootKind::kRun;
  // This slice is used again and again: what of its root no guest can write is kept.
  bool keeps_lower = false;
};

class RootBuilder {
 public:
  // The caller must be in its own mount namespace; a small tmpfs is mounted there over the empty
  // directory `scratch`.
  static Result<RootBuilder> open(const std::string& scratch, HostLayers host);
  RootBuilder(RootBuilder&& other) noexcept = default;
  RootBuilder& operator=(RootBuilder&& other) = delete;
  ~RootBuilder();

  void use_layers(HostLayers host) {
    kept_.clear();
    copies_.clear();
    host_ = std::move(host);
  }
  KeptLowers& kept() { return kept_; }
  const KeptLowers& kept() const { return kept_; }

  // A minimal /dev, read-only.
  Result<UniqueFd> build_dev() const { return dev_->build(); }
  // The writable tmpfs of a sandbox; needs no user namespace in `owner` yet.
  Result<UniqueFd> build_upper(const Limits& limits, const Owner& owner) const;
  // `layers` are root-owned directories, stacked above the host's layer, the last one on top; the
  // usr of a layer, if it has one, is stacked above the host's /usr. `image`, if there is one, is
  // the root of an image, which takes the place of the host's layer and of its /usr; our runtimes
  // lie over it.
  Result<SandboxMounts> build(UniqueFd upper, const Owner& owner,
                              const std::vector<std::string>& layers = {},
                              const std::string& image = {});

  // What the guest of a reusable sandbox can write to during one call: the descriptors of
  // wire::kScratchPlaces.
  Result<std::vector<UniqueFd>> build_scratch(const Limits& limits, const Owner& owner) const;

  // A host path that the client opened, prepared for attaching: nosuid, nodev, one uid mapped. The
  // guest's user gets the rights of `mapped` on it; uid 0: no mapping.
  Result<UniqueFd> build_mount(int host_fd, MountMode mode, HostUser mapped,
                               std::uint32_t guest_host_uid);

  // A layer's tree for a sandbox that makes or reads it: its files belong to the sandbox's root
  // inside and to the launcher's user on the disk. kUnsupported where the filesystem cannot do
  // that.
  Result<UniqueFd> build_layer(const std::string& tree, MountMode mode, const Owner& owner) const;

 private:
  RootBuilder(std::string scratch, HostLayers host)
      : scratch_(std::make_unique<std::string>(std::move(scratch))),
        host_(std::move(host)),
        copies_(*scratch_) {}
  const std::string& scratch() const { return *scratch_; }
  Result<UniqueFd> idmapped_layer(const std::string& path, const Owner& owner, bool& idmapped);
  Result<> add_host_layers(SandboxMounts& mounts, const Owner& owner, std::vector<UniqueFd>& lower,
                           std::vector<UniqueFd>& usr);
  Result<> add_image(const std::string& image, SandboxMounts& mounts, const Owner& owner,
                     std::vector<UniqueFd>& lower, std::vector<UniqueFd>& usr);
  Result<> make_upper(int tmpfs, const Owner& owner) const;
  Result<> build_from_kept(SandboxMounts& mounts, const KeptLower& kept, const Owner& owner) const;
  void keep(SandboxMounts& mounts, UniqueFd skeleton, const Owner& owner);
  Result<> build_root(SandboxMounts& mounts, std::span<const int> lower, const Owner& owner) const;
  Result<> build_usr(SandboxMounts& mounts, std::span<const UniqueFd> usr,
                     const Owner& owner) const;
  Result<> build_shared_memory(SandboxMounts& mounts) const;
  Result<std::vector<UniqueFd>> scratch_places(int tmpfs) const;
  Result<> build_detached(SandboxMounts& mounts, std::span<const UniqueFd> lower,
                          std::span<const UniqueFd> usr, const Owner& owner) const;
  Result<> build_attached(SandboxMounts& mounts, std::span<const UniqueFd> lower,
                          std::span<const UniqueFd> usr, const Owner& owner) const;

  std::unique_ptr<std::string> scratch_;  // empty once moved from
  HostLayers host_;
  std::optional<MinimalDev> dev_;
  UniqueFd usr_base_;             // the lowest layer of /usr: links for names that the host lacks
  UniqueFd empty_;                // the same for an image: an overlay needs two layers
  bool can_use_detached_ = true;  // until the kernel has refused
  bool can_keep_ = true;          // likewise
  CopyMounter copies_;
  KeptLowers kept_;
};

}  // namespace glovebox::launcher
