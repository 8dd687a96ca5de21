// Builds what a sandbox sees as its files: an overlay over the read-only layers with a bounded
// tmpfs on top, the host's /usr, a minimal /dev. All as detached mounts, which the sandbox's first
// process attaches; nothing of it appears in the host's own mount namespace.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/idmap.h"
#include "model/limits.h"
#include "model/sandbox_spec.h"

namespace glovebox::launcher {

// Where layers are attached in our own mount namespace for as long as the overlays are being made.
class Attached {
 public:
  Attached() = default;
  Attached(Attached&& other) noexcept : places_(std::exchange(other.places_, {})) {}
  Attached& operator=(Attached&&) = delete;
  ~Attached();
  void add(std::string place) { places_.push_back(std::move(place)); }

 private:
  std::vector<std::string> places_;
};

struct SandboxMounts {
  UniqueFd root;
  UniqueFd usr;
  UniqueFd shm;
  UniqueFd upper;         // the tmpfs that is written to: its size may be changed at the take
  bool idmapped = false;  // host files keep their owners inside
  Attached attached;      // goes once the sandbox has what it needs: each detach waits a little
};

// What a sandbox's writable filesystem is bounded by, as options of a tmpfs.
std::vector<std::pair<std::string, std::string>> size_options(const Limits& limits);

// A session's root may write its own /usr and use programs that change users.
enum class RootKind : bool { kRun, kSession };

struct Owner {
  std::uint32_t host_uid = 0;  // of the sandbox's root
  int userns = -1;             // borrowed; idmaps the layers
  bool own_slice = false;
  RootKind kind = RootKind::kRun;
};

class RootBuilder {
 public:
  // The caller must be in a mount namespace of its own; `scratch` is an empty directory over which
  // a small tmpfs is mounted there.
  static Result<RootBuilder> open(const std::string& scratch, const std::string& layer);
  RootBuilder(RootBuilder&& other) noexcept = default;
  RootBuilder& operator=(RootBuilder&& other) = delete;
  ~RootBuilder();

  void use_layer(std::string layer) { layer_ = std::move(layer); }

  // A copy of the tree that prepare_dev made.
  Result<UniqueFd> build_dev() const;
  // `layers` are directories of root's, stacked above the host's own, the last one on top; a
  // layer's usr, if it has one, above the host's /usr.
  Result<SandboxMounts> build(const Limits& limits, const Owner& owner,
                              const std::vector<std::string>& layers = {});

  // A host path that the client opened, ready to be attached: nosuid, nodev, one uid mapped.
  // `mapped` is whose rights the guest's user gets on it; uid 0 stands for nobody.
  Result<UniqueFd> build_mount(int host_fd, MountMode mode, HostUser mapped,
                               std::uint32_t guest_host_uid);

  // A layer's tree, to be attached in a sandbox that makes it or looks at it: its files are the
  // sandbox's root's there and our own on the disk.
  Result<UniqueFd> build_layer(const std::string& tree, MountMode mode, const Owner& owner) const;

 private:
  RootBuilder(std::string scratch, std::string layer)
      : scratch_(std::make_unique<std::string>(std::move(scratch))), layer_(std::move(layer)) {}
  const std::string& scratch() const { return *scratch_; }
  Result<> prepare_dev();
  Result<UniqueFd> idmapped_layer(const std::string& path, const Owner& owner, bool& idmapped);
  Result<> make_upper(int tmpfs, const Owner& owner) const;
  Result<> build_detached(SandboxMounts& mounts, std::span<const UniqueFd> lower,
                          std::span<const UniqueFd> usr, const Owner& owner) const;
  Result<> build_attached(SandboxMounts& mounts, std::span<const UniqueFd> lower,
                          std::span<const UniqueFd> usr, const Owner& owner) const;

  std::unique_ptr<std::string> scratch_;  // empty once moved from
  std::string layer_;
  UniqueFd empty_;              // an empty directory
  bool takes_detached_ = true;  // until the kernel has refused
};

}  // namespace glovebox::launcher
