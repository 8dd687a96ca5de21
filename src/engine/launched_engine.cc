#include "engine/launched_engine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "base/fd_message.h"

namespace glovebox::engine {
namespace {

constexpr std::size_t kLentSockets = 3;

class LaunchedInstance final : public Instance {
 public:
  LaunchedInstance(LauncherClient launcher, UniqueFd link)
      : launcher_(std::move(launcher)), link_(std::move(link)) {}

  const WallSet& walls() const override { return walls_; }
  int link() const override { return link_.get(); }
  int event_fd() const override { return launcher_.fd(); }

  Result<> await_created() {
    TRY(wire::LauncherReply reply, launcher_.receive());
    if (const auto* refused = std::get_if<wire::SandboxRefused>(&reply)) {
      return fail(Error(refused->code, refused->message, refused->sys_errno));
    }
    const auto* created = std::get_if<wire::SandboxCreated>(&reply);
    if (created == nullptr) return fail(Errc::kProtocol, "unexpected answer from the launcher");
    id_ = created->id;
    walls_ = created->walls;
    return {};
  }

  Result<Lent> lend_network() override {
    if (!id_) return fail(Errc::kConflict, "there is no sandbox yet");
    TRY_OK(launcher_.send(wire::LendNetwork{1, *id_}));
    std::vector<UniqueFd> sockets;
    TRY(const wire::LauncherReply reply, launcher_.receive(&sockets));
    if (const auto* refused = std::get_if<wire::SandboxRefused>(&reply)) {
      return fail(Error(refused->code, refused->message, refused->sys_errno));
    }
    if (const auto* ended = std::get_if<wire::SandboxEnded>(&reply)) {
      ended_ = Ended{ended->reason, ended->usage};
      return fail(Errc::kUnavailable, "the sandbox has ended");
    }
    if (!std::holds_alternative<wire::NetworkLent>(reply) || sockets.size() != kLentSockets) {
      return fail(Errc::kProtocol, "unexpected answer from the launcher");
    }
    return Lent{*id_, std::move(sockets)};
  }

  Result<Ended> ended() override {
    if (ended_) return *ended_;
    TRY(const wire::LauncherReply reply, launcher_.receive());
    const auto* ended = std::get_if<wire::SandboxEnded>(&reply);
    if (ended == nullptr || !id_ || ended->id != *id_) {
      return fail(Errc::kProtocol, "unexpected answer from the launcher");
    }
    return Ended{ended->reason, ended->usage};
  }

  Result<> begin_destroy() override {
    if (!id_) return {};
    return launcher_.send(wire::DestroySandbox{*id_});
  }

 private:
  LauncherClient launcher_;
  UniqueFd link_;
  std::optional<SandboxId> id_;
  std::optional<Ended> ended_;  // heard of while we waited for something else
  WallSet walls_;
};

// With the caller's own rights: what it cannot open, it cannot have mounted.
Result<UniqueFd> open_mount_source(const MountSpec& mount) {
  UniqueFd fd(::open(mount.host.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return fail(Error::from_errno("mount " + mount.host));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail(Error::from_errno("mount " + mount.host));
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) {
    return fail(Errc::kInvalidArgument,
                "mount " + mount.host + ": not a directory or a regular file");
  }
  const int wanted = mount.mode == MountMode::kReadWrite ? R_OK | W_OK : R_OK;
  if (::faccessat(fd.get(), "", wanted, AT_EMPTY_PATH | AT_EACCESS) != 0) {
    return fail(Error::from_errno("mount " + mount.host));
  }
  return fd;
}

}  // namespace

Result<std::unique_ptr<Instance>> LaunchedEngine::begin_create(const SandboxSpec& spec,
                                                               NetworkStage network) {
  wire::CreateSandbox create;
  create.engine = kind();
  create.limits = spec.limits;
  create.network = network;
  TRY(SocketPair link, seqpacket_pair());
  std::vector<UniqueFd> opened;
  std::vector<int> fds = {link.theirs.get()};
  for (const MountSpec& mount : spec.mounts) {
    TRY(UniqueFd source, open_mount_source(mount));
    fds.push_back(source.get());
    opened.push_back(std::move(source));
    create.mounts.push_back({mount.mode, mount.guest, {}});
  }
  TRY(LauncherClient launcher, LauncherClient::connect());
  TRY_OK(launcher.send(create, fds));
  return std::make_unique<LaunchedInstance>(std::move(launcher), std::move(link.ours));
}

Result<> LaunchedEngine::finish_create(Instance& instance) {
  return static_cast<LaunchedInstance&>(instance).await_created();
}

Result<Features> LaunchedEngine::probe() {
  TRY(const std::unique_ptr<Instance> instance, begin_create(SandboxSpec{}, NetworkStage::kNone));
  TRY_OK(finish_create(*instance));
  Features features;
  features.walls = instance->walls();
  features.grade = grade_of(kind(), features.walls);
  describe(features);
  TRY_OK(instance->begin_destroy());
  TRY_OK(instance->ended());
  return features;
}

}  // namespace glovebox::engine
