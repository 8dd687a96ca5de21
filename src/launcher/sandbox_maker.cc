#include "launcher/sandbox_maker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/host_layer.h"
#include "launcher/own_namespace.h"
#include "launcher/process_maker.h"
#include "launcher/request_checks.h"
#include "sys/clone.h"
#include "sys/file.h"
#include "wire/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr int kSetupStepMs = 20'000;
constexpr const char* kAgentOomScore = "-999";

// The next message of the sandbox's first process. It is our program and nobody else is in the
// sandbox yet; still, it has a deadline and a bound.
Result<Received> next_from(int socket, std::size_t max_fds) {
  pollfd ready{socket, POLLIN, 0};
  const int polled = ::poll(&ready, 1, kSetupStepMs);
  if (polled == 0) return fail(Errc::kTimeout, "the sandbox's first process does not answer");
  if (polled < 0) return fail(Error::from_errno("poll"));
  TRY(Received received, receive_message(socket, wire::kMaxPlanMessage, max_fds));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the sandbox's first process died");
  return received;
}

Result<Received> await_hello(int socket) {
  TRY(Received received, next_from(socket, 1));
  TRY(const wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    return fail(Error(Errc::kInternal, failed->step, failed->sys_errno));
  }
  if (!std::holds_alternative<wire::SandboxHello>(message) || received.fds.size() != 1 ||
      received.sender_pid <= 0) {
    return fail(Errc::kProtocol, "the sandbox's first process did not say hello");
  }
  return received;
}

Result<WallSet> await_sealed(int socket) {
  TRY(const Received received, next_from(socket, 0));
  TRY(const wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    return fail(Error(Errc::kInternal, failed->step, failed->sys_errno));
  }
  const auto* sealed = std::get_if<wire::SandboxSealed>(&message);
  if (sealed == nullptr) return fail(Errc::kProtocol, "the sandbox was not sealed");
  return sealed->walls;
}

// A full disk must be ENOSPC and never an OOM kill, and tmpfs pages are memory: both count.
sys::CgroupLimits bounds_of(const Limits& limits) {
  return {.memory_bytes = limits.memory_bytes + limits.disk_bytes,
          .pids = limits.pids,
          .cpu_thousandths = limits.cpu_thousandths};
}

// Time is the launcher's to watch; everything else has been set up in the sandbox.
bool same_but_for_time(const Limits& made, Limits wanted) {
  wanted.wall = made.wall;
  wanted.asked_for = made.asked_for;
  return made == wanted;
}

bool give_link(int setup, int link) {
  const int fds[] = {link};
  return send_message(setup, wire::encode(wire::PlanMessage(wire::SandboxTaken{})), fds)
      .has_value();
}

}  // namespace

SandboxMaker::SandboxMaker(MakerConfig config, Policy policy, sys::CgroupRoots roots,
                           StateDir state)
    : config_(std::move(config)),
      policy_(std::move(policy)),
      roots_(std::move(roots)),
      state_(std::move(state)) {}

Result<Sandbox> SandboxMaker::make(const wire::CreateSandbox& asked, std::vector<UniqueFd> fds,
                                   const Caller& caller) {
  wire::CreateSandbox request = asked;
  request.limits = within_ceilings(policy_, asked.limits);
  TRY_OK(check(request, fds.size()));
  TRY_OK(check_link(fds[0].get()));
  TRY_OK(prepare_users());
  if (request.engine == EngineKind::kJail) return make_jail(request, std::move(fds), caller);
  SandboxId id = SandboxId::make();
  TRY(sys::Cgroup cgroup,
      sys::Cgroup::create(roots_, nullptr, state_.cgroup_name(id), bounds_of(request.limits)));
  TRY_OK(refuse_unenforceable(request.limits, cgroup.features()));
  return make_process(request, std::move(fds), std::move(id), std::move(cgroup));
}

Result<> SandboxMaker::check(const wire::CreateSandbox& request, std::size_t fds) const {
  if (request.template_name != "host") {
    return fail(Errc::kPolicy, "there is no template '" + request.template_name + "'");
  }
  if (fds != 1 + request.mounts.size()) {
    return fail(Errc::kProtocol, "a request has other descriptors than it says");
  }
  if (request.engine == EngineKind::kProcess) {
    if (!policy_.allow_process_engine) {
      return fail(Errc::kPolicy, "the launcher's policy does not allow the process engine");
    }
    if (!request.mounts.empty()) {
      return fail(Errc::kUnsupported, "the process engine has no mounts of its own");
    }
    if (request.limits.was_asked_for(LimitKind::kDisk)) {
      return fail(
          Errc::kUnsupported,
          "a disk limit was asked for, but the process engine writes to the host's disk and "
          "can bound each file only");
    }
  }
  if (!request.mounts.empty() && !policy_.allow_mounts) {
    return fail(Errc::kPolicy, "the launcher's policy does not allow mounts");
  }
  for (const wire::MountRequest& mount : request.mounts) {
    if (mount.mode == MountMode::kReadWrite && !policy_.allow_writable_mounts) {
      return fail(Errc::kPolicy, "the launcher's policy does not allow writable mounts");
    }
    const std::string& guest = mount.guest.str();
    for (const char* ours :
         {"/", "/proc", "/dev", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"}) {
      const std::string place = ours;
      if (guest == place || (place != "/" && guest.rfind(place + "/", 0) == 0)) {
        return fail(Errc::kPolicy, "nothing may be mounted at " + guest);
      }
    }
  }
  return check_limits(policy_, request.limits);
}

// What all sandboxes of this launcher share, made when the first one is wanted.
Result<> SandboxMaker::prepare_users() {
  if (!agent_) {
    TRY(agent_, open_agent(config_.agent_path));
  }
  if (!config_.rootless && !slices_) {
    TRY(slices_, SliceBlock::lease(state_.base() + "/slices", policy_.uid_first, policy_.uid_last,
                                   config_.sandboxes_at_once + 2));
  }
  return {};
}

Result<> SandboxMaker::prepare_nursery() {
  if (!in_own_namespace_) {
    TRY_OK(enter_own_namespace(config_.rootless));
    in_own_namespace_ = true;
  }
  if (!nursery_) {
    NurseryUsers users;
    if (slices_) users = {slices_->host_uid(), slices_->uid_count()};
    if (!family_ && roots_.v2_controls) {
      auto family = sys::CgroupFamily::create(roots_, state_.family_name(), users.host_uid);
      if (family) family_.emplace(std::move(*family));
    }
    TRY(Nursery nursery, Nursery::start(agent_, users, family_ ? family_->nursery_dir() : -1));
    nursery_.emplace(std::move(nursery));
  }
  return {};
}

Result<> SandboxMaker::prepare_files() {
  if (!files_) {
    TRY(const std::string layer, ensure_host_layer(config_.layers_dir));
    TRY(RootBuilder files, RootBuilder::open(state_.path(), layer));
    files_.emplace(std::move(files));
  }
  return {};
}

namespace {

// A user's own group, never a group of the system's: a directory may well be somebody's and root's.
constexpr std::uint32_t kFirstOrdinaryGroup = 1000;

HostUser without_system_groups(std::uint32_t uid, std::uint32_t gid) {
  return {uid, gid >= kFirstOrdinaryGroup ? gid : uid};
}

}  // namespace

Result<HostUser> SandboxMaker::mapped_user(int fd, MountMode mode, const Caller& caller) const {
  if (config_.rootless) return HostUser{};  // the only user there is
  if (caller.uid != 0) return without_system_groups(caller.uid, caller.gid);
  if (policy_.mount_uid != 0) return HostUser{policy_.mount_uid, policy_.mount_uid};
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(Error::from_errno("look at a mount"));
  if (info.st_uid == 0 && mode == MountMode::kReadWrite) {
    return fail(Errc::kPolicy,
                "a directory of root's cannot be mounted writable, because a guest is never host "
                "root: give it to an ordinary user (chown), or set mounts.uid in "
                "/etc/glovebox/policy.toml");
  }
  if (info.st_gid < kFirstOrdinaryGroup && mode == MountMode::kReadWrite) {
    // The group is not mapped, and the kernel lets nobody write where an owner is unknown.
    return fail(Errc::kPolicy,
                "a directory of a system group cannot be mounted writable: give it to an ordinary "
                "user and his group (chown USER: DIR)");
  }
  return without_system_groups(info.st_uid, info.st_gid);
}

Result<std::vector<UniqueFd>> SandboxMaker::build_mounts(const wire::CreateSandbox& request,
                                                         std::span<const UniqueFd> fds,
                                                         const Caller& caller,
                                                         std::uint32_t host_uid) {
  std::vector<UniqueFd> trees;
  for (std::size_t i = 0; i < request.mounts.size(); ++i) {
    const wire::MountRequest& mount = request.mounts[i];
    TRY_OK(refuse_special_files(fds[i].get()));
    TRY_OK(refuse_kernel_filesystems(fds[i].get()));
    if (!policy_.mount_sources.empty()) {
      char name[4096];
      const std::string link = "/proc/self/fd/" + std::to_string(fds[i].get());
      const ssize_t size = ::readlink(link.c_str(), name, sizeof name);
      const std::string path(name, size > 0 ? static_cast<std::size_t>(size) : 0);
      const bool allowed = std::any_of(policy_.mount_sources.begin(), policy_.mount_sources.end(),
                                       [&](const std::string& source) {
                                         return path == source || path.rfind(source + "/", 0) == 0;
                                       });
      if (!allowed)
        return fail(Errc::kPolicy, "the launcher's policy does not list this mount's source");
    }
    TRY(const HostUser mapped, mapped_user(fds[i].get(), mount.mode, caller));
    auto tree = files_->build_mount(fds[i].get(), mount.mode, mapped, host_uid + 1000);
    if (!tree) return fail(std::move(tree.error()).context("mount " + mount.guest.str()));
    trees.push_back(std::move(*tree));
  }
  return trees;
}

Result<Sandbox> SandboxMaker::make_jail(const wire::CreateSandbox& request,
                                        std::vector<UniqueFd> fds, const Caller& caller) {
  if (spare_ && request.mounts.empty() && same_but_for_time(spare_->limits, request.limits)) {
    ReadyJail spare = *std::exchange(spare_, std::nullopt);
    TRY_OK(refuse_unenforceable(request.limits, spare.cgroup.features()));
    if (give_link(spare.setup.get(), fds[0].get()))
      return to_sandbox(std::move(spare), request.limits);
    // It has died while it waited; a new one is made instead.
  }
  auto jail = make_ready(request, fds, caller);
  if (!jail && nursery_has_died()) {
    // Its broker was killed, perhaps before this request came: the next one gets another try.
    forget_nursery();
    return to_sandbox_or_error(make_ready(request, fds, caller), request.limits);
  }
  return to_sandbox_or_error(std::move(jail), request.limits);
}

Result<Sandbox> SandboxMaker::to_sandbox_or_error(Result<ReadyJail> jail, const Limits& limits) {
  if (!jail) return fail(std::move(jail.error()));
  return to_sandbox(std::move(*jail), limits);
}

bool SandboxMaker::nursery_has_died() const {
  if (!nursery_) return false;
  pollfd dead{nursery_->pidfd(), POLLIN, 0};
  // A killed process is on its way out for a moment before its handle says so.
  constexpr int kMomentMs = 50;
  return ::poll(&dead, 1, kMomentMs) == 1;
}

Sandbox SandboxMaker::to_sandbox(ReadyJail jail, const Limits& limits) {
  jail.maker = nullptr;
  return Sandbox(std::move(jail.id), limits, jail.walls, std::move(jail.cgroup),
                 std::move(jail.init), jail.slice);
}

void SandboxMaker::make_spare() {
  wire::CreateSandbox plain;
  plain.limits = within_ceilings(policy_, plain.limits);
  auto ready = make_ready(plain, {}, Caller{});
  if (ready) {
    spare_.emplace(std::move(*ready));
  } else {
    log::warn("no spare sandbox", {{"error", ready.error().message()}});
    // A dead broker is replaced with the next request; anything else would only fail again.
    if (nursery_has_died()) {
      forget_nursery();
    } else {
      can_make_spares_ = false;
    }
  }
}

SandboxMaker::ReadyJail::~ReadyJail() {
  if (maker == nullptr) return;
  if (init) {
    sys::send_signal(init.get(), SIGKILL);
    pollfd dead{init.get(), POLLIN, 0};
    ::poll(&dead, 1, kSetupStepMs);
  }
  if (slice) maker->slices_->give_back(*slice);
}

// Up to the point where the walls stand and nothing but a client's link is missing. That link is
// the first of `fds`; without any it is a spare.
Result<SandboxMaker::ReadyJail> SandboxMaker::make_ready(const wire::CreateSandbox& request,
                                                         const std::vector<UniqueFd>& fds,
                                                         const Caller& caller) {
  // First, since it needs the longest and runs beside what follows.
  TRY_OK(prepare_nursery());
  // From here on, on every way out but the last, what there is already goes again.
  ReadyJail jail(this, SandboxId::make(), request.limits);
  sys::CgroupRoots roots = roots_;
  roots.v2_directly = false;  // a jail dies with its PID 1
  TRY(jail.cgroup, sys::Cgroup::create(roots, family_ ? &*family_ : nullptr,
                                       state_.cgroup_name(jail.id), bounds_of(request.limits)));
  TRY_OK(refuse_unenforceable(request.limits, jail.cgroup.features()));
  if (slices_) {
    TRY(jail.slice, slices_->take());
  }
  const std::uint32_t host_uid = jail.slice ? slices_->host_uid() + *jail.slice : 0;

  TRY(SocketPair setup, seqpacket_pair());
  const int on = 1;
  ::setsockopt(setup.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  const wire::MakeSandbox make{EngineKind::kJail, jail.slice.value_or(0),
                               jail.slice ? kSliceSize : 1};
  TRY_OK(nursery_->ask_for_sandbox(make, setup.theirs.get(), jail.cgroup.v2_dir()));
  setup.theirs.reset();
  const Result<> prepared = prepare_files();
  if (prepared) TRY_OK(send_basics(setup.ours.get(), jail.cgroup));
  TRY(jail.init, nursery_->await_sandbox());
  TRY_OK(prepared);

  TRY(const Received hello, await_hello(setup.ours.get()));
  const Owner owner{
      .host_uid = host_uid, .userns = hello.fds[0].get(), .own_slice = jail.slice.has_value()};
  TRY(const SandboxMounts files, files_->build(request.limits, owner));
  TRY(const std::vector<UniqueFd> mounts,
      build_mounts(request, fds.empty() ? std::span<const UniqueFd>() : std::span(fds).subspan(1),
                   caller, host_uid));

  wire::SandboxPlan plan;
  plan.limits = request.limits;
  plan.memory_is_bounded = jail.cgroup.features().memory;
  std::vector<int> passed = {files.root.get(), files.usr.get(), files.shm.get()};
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    plan.mounts.push_back(request.mounts[i].guest);
    plan.mount_is_writable.push_back(request.mounts[i].mode == MountMode::kReadWrite ? 1 : 0);
    passed.push_back(mounts[i].get());
  }
  TRY_OK(send_message(setup.ours.get(), wire::encode(wire::PlanMessage(plan)), passed));
  if (!fds.empty() && !give_link(setup.ours.get(), fds[0].get())) {
    return fail(Errc::kUnavailable, "the sandbox's first process died");
  }
  // Needs CAP_SYS_RESOURCE, which not every root has. Without it the agent, the smallest process of
  // all, is still the last that the kernel would choose.
  (void)sys::write_control(AT_FDCWD, "/proc/" + std::to_string(hello.sender_pid) + "/oom_score_adj",
                           kAgentOomScore);
  TRY(jail.walls, await_sealed(setup.ours.get()));
  if (files.idmapped) jail.walls.add(Wall::kIdmappedLayers);
  if (jail.cgroup.features().memory) jail.walls.add(Wall::kMemoryLimit);
  if (jail.cgroup.features().cpu) jail.walls.add(Wall::kCpuLimit);
  // RLIMIT_NPROC counts per user and user namespace, so it bounds one sandbox exactly as a cgroup.
  jail.walls.add(Wall::kPidsLimit);
  jail.setup = std::move(setup.ours);
  return jail;
}

Result<> SandboxMaker::send_basics(int setup, const sys::Cgroup& cgroup) const {
  TRY(const UniqueFd dev, files_->build_dev());
  TRY(const std::vector<UniqueFd> to_join, cgroup.open_join_files());
  std::vector<int> passed = {dev.get()};
  for (const UniqueFd& file : to_join) passed.push_back(file.get());
  const wire::SandboxBasics basics{static_cast<std::uint8_t>(to_join.size())};
  return send_message(setup, wire::encode(wire::PlanMessage(basics)), passed);
}

Result<Sandbox> SandboxMaker::make_process(const wire::CreateSandbox& request,
                                           std::vector<UniqueFd> fds, SandboxId id,
                                           sys::Cgroup cgroup) {
  ProcessStart start;
  start.home = state_.home_of(id);
  std::optional<std::uint32_t> slice;
  if (slices_) {
    TRY(slice, slices_->take());
    start.host_uid = slices_->host_uid() + *slice + 1000;
  }
  TRY(SocketPair setup, seqpacket_pair());
  // Until the end of this function: killed, cleaned up, and the slice given back.
  struct Undo {
    SandboxMaker* maker;
    const ProcessStart* start;
    const std::optional<std::uint32_t>* slice;
    UniqueFd* init;
    ~Undo() {
      if (maker == nullptr) return;
      if (*init) {
        sys::send_signal(init->get(), SIGKILL);
        ::waitid(P_PIDFD, static_cast<id_t>(init->get()), nullptr, WEXITED);
      }
      clean_up_process(*start);
      if (*slice) maker->slices_->give_back(**slice);
    }
  };
  UniqueFd init;
  Undo undo{this, &start, &slice, &init};
  TRY(init, start_process_agent(start, agent_, cgroup, setup.theirs.get(), fds[0].get()));
  setup.theirs.reset();
  fds[0].reset();
  wire::SandboxPlan plan;
  plan.limits = request.limits;
  plan.memory_is_bounded = cgroup.features().memory;
  plan.own_uid = start.host_uid.has_value();
  plan.home = start.home;
  TRY_OK(send_message(setup.ours.get(), wire::encode(wire::PlanMessage(plan))));
  TRY(WallSet walls, await_sealed(setup.ours.get()));
  if (cgroup.features().memory) walls.add(Wall::kMemoryLimit);
  if (cgroup.features().cpu) walls.add(Wall::kCpuLimit);
  if (cgroup.features().pids || start.host_uid) walls.add(Wall::kPidsLimit);
  undo.maker = nullptr;
  return Sandbox(std::move(id), request.limits, walls, std::move(cgroup), std::move(init), slice,
                 std::move(start));
}

void SandboxMaker::kill_nursery() const {
  if (nursery_) sys::send_signal(nursery_->pidfd(), SIGKILL);
}

void SandboxMaker::shut_down() {
  spare_.reset();
  nursery_.reset();
  family_.reset();
  files_.reset();
  state_.remove();
}

void SandboxMaker::release(const Sandbox& sandbox) {
  if (sandbox.slice() && slices_) slices_->give_back(*sandbox.slice());
}

}  // namespace glovebox::launcher
