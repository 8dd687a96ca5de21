#include "launcher/jail_birth.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/fd_message.h"
#include "launcher/request_checks.h"
#include "model/environment.h"
#include "sys/clone.h"
#include "sys/file.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr std::chrono::seconds kMadeWithin{20};
// Where a zygote's modules could hold things up.
constexpr std::chrono::seconds kMadeWarmWithin{2};
constexpr std::chrono::seconds kBirthJoinsWithin{3};
constexpr int kJailDiesWithinMs = 2000;
constexpr const char* kAgentOomScore = "-999";

// The next message of the sandbox's first process. It is our program and nobody else is in the
// sandbox yet; still, it has a bound.
Result<Received> next_from(int socket, std::size_t max_fds, wire::PlanMessage& message) {
  TRY(Received received, receive_message(socket, wire::kMaxPlanMessage, max_fds));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the sandbox's first process died");
  TRY(message, wire::decode_plan_message(received.bytes));
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    // Not every kernel has it, and it was asked for.
    const bool no_network = failed->step.starts_with("prepare the network");
    return fail(
        Error(no_network ? Errc::kUnsupported : Errc::kInternal, failed->step, failed->sys_errno));
  }
  return received;
}

}  // namespace

Result<> JailBirth::begin() {
  const wire::CreateSandbox& request = wish_.request;
  const Template* description = making_.broods->find(request.template_name);
  if (description == nullptr) return fail(Errc::kNotFound, "the template is gone");
  runtime_ = request.warm ? description->runtime : RuntimeKind::kNone;
  layers_ = description->layers;
  environment_ = description->env;
  if (runtime_ == RuntimeKind::kPython) {
    TRY(Zygote * zygote, making_.broods->zygote_for(request.template_name));
    zygote_uid_ = zygote->uid();
    zygote_held_ = zygote->held();
    ++zygote->pending;
    has_zygote_ = true;
  }
  if (is_session() && description->runtime == RuntimeKind::kPython) {
    // If it is there: else it is on its way for the next one.
    if (auto zygote = making_.broods->zygote_for(request.template_name)) {
      session_zygote_ = (*zygote)->uid();
      zygote_held_ = (*zygote)->held();
    }
  }
  deadline_ = Clock::now() + (has_zygote_ ? kMadeWarmWithin : kMadeWithin);
  // First, since it needs the longest and runs beside what follows.
  TRY(Nursery * nursery, making_.broods->nursery_for(request.template_name, in_brood()));
  broker_ = nursery->pid();
  sys::CgroupRoots roots = *making_.roots;
  roots.v2_directly = false;  // a jail dies with its PID 1
  if (!is_session()) roots.v1_freezer.clear();
  const auto& family = *making_.family;
  TRY(cgroup_, sys::Cgroup::create(roots, family ? &*family : nullptr,
                                   making_.state->cgroup_name(id_), bounds_of(request.limits)));
  TRY_OK(refuse_unenforceable(request.limits, cgroup_.features()));
  std::optional<SliceBlock>& slices = *making_.slices;
  if (slices) {
    TRY(slice_, slices->take());
  }
  TRY(SocketPair setup, seqpacket_pair());
  const int on = 1;
  ::setsockopt(setup.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  const std::uint32_t first = slice_.value_or(0);
  const wire::MakeSandbox make{EngineKind::kJail, first, slice_ ? kSliceSize : 1,
                               has_zygote_            ? zygote_uid_
                               : session_zygote_ != 0 ? session_zygote_
                                                      : first};
  TRY(question_, nursery->ask_for_sandbox(make, setup.theirs.get(), cgroup_.v2_dir()));
  setup_ = std::move(setup.ours);
  return {};
}

Result<> JailBirth::send_first() const {
  TRY(const UniqueFd dev, (*making_.files)->build_dev());
  TRY(const std::vector<UniqueFd> to_join, cgroup_.open_join_files());
  std::vector<int> passed = {dev.get()};
  for (const UniqueFd& file : to_join) passed.push_back(file.get());
  const wire::SandboxBasics basics{static_cast<std::uint8_t>(to_join.size()),
                                   wish_.request.network};
  return send_message(setup_.get(), wire::encode(wire::PlanMessage(basics)), passed);
}

int JailBirth::event_fd() const {
  if (stage_ != Stage::kAsked) return setup_.get();
  const Nursery* nursery = making_.broods->find_nursery(wish_.request.template_name, in_brood());
  return nursery != nullptr ? nursery->socket() : -1;
}

bool JailBirth::broker_is_gone() const {
  const Nursery* nursery = making_.broods->find_nursery(wish_.request.template_name, in_brood());
  if (nursery == nullptr || nursery->pid() != broker_) return broker_ != 0;
  // A killed process is on its way out for a moment before its handle says so.
  constexpr int kMomentMs = 50;
  pollfd dead{nursery->pidfd(), POLLIN, 0};
  return ::poll(&dead, 1, kMomentMs) == 1;
}

Result<bool> JailBirth::advance(Clock::time_point now) {
  if (stage_ == Stage::kAsked) {
    TRY(const bool answered, on_answer());
    if (answered) stage_ = Stage::kBorn;
  }
  if (stage_ == Stage::kBorn && sys::is_readable(setup_.get())) {
    TRY_OK(on_hello());
    stage_ = Stage::kPlanned;
  }
  if (stage_ == Stage::kPlanned && sys::is_readable(setup_.get())) {
    TRY_OK(on_sealed());
    stage_ = Stage::kDone;
  }
  if (stage_ != Stage::kDone && now > deadline_) {
    return fail(Errc::kTimeout, "the sandbox's first process does not answer");
  }
  return stage_ == Stage::kDone;
}

Result<bool> JailBirth::on_answer() {
  Nursery* nursery = making_.broods->find_nursery(wish_.request.template_name, in_brood());
  if (nursery == nullptr || nursery->pid() != broker_) {
    return fail(Errc::kUnavailable, "the broker is gone");
  }
  TRY(std::optional<UniqueFd> process, nursery->answer_to(question_));
  if (!process) return false;
  init_ = std::move(*process);
  return true;
}

Result<> JailBirth::on_hello() {
  const wire::CreateSandbox& request = wish_.request;
  wire::PlanMessage message;
  TRY(const Received hello, next_from(setup_.get(), 1, message));
  if (!std::holds_alternative<wire::SandboxHello>(message) || hello.fds.size() != 1 ||
      hello.sender_pid <= 0) {
    return fail(Errc::kProtocol, "the sandbox's first process did not say hello");
  }
  const std::uint32_t host_uid = slice_ ? (*making_.slices)->host_uid() + *slice_ : 0;
  const Owner owner{.host_uid = host_uid,
                    .userns = hello.fds[0].get(),
                    .own_slice = slice_.has_value(),
                    .kind = is_session() ? RootKind::kSession : RootKind::kRun};
  RootBuilder& builder = **making_.files;
  TRY(SandboxMounts files, builder.build(request.limits, owner, layers_));
  const MountMaking mounting{*making_.policy, making_.rootless, builder};
  const std::span<const UniqueFd> fds = wish_.fds;
  TRY(const std::vector<UniqueFd> mounts,
      build_mounts(mounting, request.mounts, fds.empty() ? fds : fds.subspan(is_session() ? 2 : 1),
                   wish_.caller, host_uid));
  std::vector<int> passed = {files.root.get(), files.usr.get(), files.shm.get()};
  if (is_session()) passed.push_back(files.upper.get());
  for (const UniqueFd& mount : mounts) passed.push_back(mount.get());
  UniqueFd layer;
  if (!wish_.layer_tree.empty()) {
    const MountMode mode = request.make_layer ? MountMode::kReadWrite : MountMode::kReadOnly;
    TRY(layer, builder.build_layer(wish_.layer_tree, mode, owner));
    passed.push_back(layer.get());
  }
  TRY_OK(send_message(setup_.get(), wire::encode(wire::PlanMessage(plan())), passed));
  if (!waits()) {
    const int link[] = {wish_.fds[0].get()};
    const wire::PlanMessage taken = wire::SandboxTaken{request.limits};
    if (!send_message(setup_.get(), wire::encode(taken), link)) {
      return fail(Errc::kUnavailable, "the sandbox's first process died");
    }
  }
  // Needs CAP_SYS_RESOURCE, which not every root has. Without it the agent, the smallest process of
  // all, is still the last that the kernel would choose.
  (void)sys::write_control(AT_FDCWD, "/proc/" + std::to_string(hello.sender_pid) + "/oom_score_adj",
                           kAgentOomScore);
  init_pid_ = hello.sender_pid;
  idmapped_ = files.idmapped;
  upper_ = std::move(files.upper);
  return {};
}

wire::SandboxPlan JailBirth::plan() const {
  wire::SandboxPlan plan;
  plan.limits = wish_.request.limits;
  plan.memory_is_bounded = cgroup_.features().memory;
  plan.session = is_session();
  plan.runtime = runtime_;
  if (runtime_ == RuntimeKind::kNode) {
    plan.runtime_argv = {"/usr/bin/node", "/opt/glovebox/node/run.js", "wait"};
    plan.runtime_env = base_environment();
    plan.runtime_env.insert(plan.runtime_env.end(), environment_.begin(), environment_.end());
  }
  for (const wire::MountRequest& mount : wish_.request.mounts) {
    plan.mounts.push_back(mount.guest);
    plan.mount_is_writable.push_back(mount.mode == MountMode::kReadWrite ? 1 : 0);
  }
  if (!wish_.layer_tree.empty()) {
    plan.mounts.push_back(*GuestPath::parse(kLayerMountPoint));
    plan.mount_is_writable.push_back(wish_.request.make_layer ? 1 : 0);
  }
  return plan;
}

Result<> JailBirth::on_sealed() {
  wire::PlanMessage message;
  TRY(Received received, next_from(setup_.get(), kMaxPassedFds, message));
  const auto* sealed = std::get_if<wire::SandboxSealed>(&message);
  if (sealed == nullptr) return fail(Errc::kProtocol, "the sandbox was not sealed");
  walls_ = sealed->walls;
  if (sealed->network) {
    if (received.fds.size() < wire::kSocketsOfANetwork) {
      return fail(Errc::kProtocol, "the sandbox's network has no sockets");
    }
    network_.emplace(Sandbox::Network{std::move(received.fds[0]), std::move(received.fds[1]),
                                      wish_.request.network == NetworkStage::kUp});
    received.fds.erase(received.fds.begin(), received.fds.begin() + wire::kSocketsOfANetwork);
  }
  if (idmapped_) walls_.add(Wall::kIdmappedLayers);
  if (cgroup_.features().memory) walls_.add(Wall::kMemoryLimit);
  if (cgroup_.features().cpu) walls_.add(Wall::kCpuLimit);
  // RLIMIT_NPROC counts per user and user namespace, so it bounds one sandbox exactly as a cgroup.
  walls_.add(Wall::kPidsLimit);
  return has_zygote_ ? have_it_joined(received.fds) : Result<>();
}

// Shows the zygote the sandbox; whether its child has arrived is the agent's to say.
Result<> JailBirth::have_it_joined(std::span<const UniqueFd> fds) {
  constexpr std::size_t kLeast = wire::kNamespacesOfASandbox + wire::kDescriptorsOfARuntime;
  if (fds.size() != kLeast && fds.size() != kLeast + 1) {
    return fail(Errc::kProtocol, "the sandbox does not say how to join it");
  }
  Zygote* zygote = making_.broods->find_zygote(wish_.request.template_name, zygote_uid_);
  if (zygote == nullptr) return fail(Errc::kUnavailable, "the zygote is gone");
  TRY(const std::vector<UniqueFd> cgroups, cgroup_.open_join_files(sys::Cgroup::JoinV2::kYes));
  std::vector<int> passed;
  for (std::size_t i = 0; i < wire::kNamespacesOfASandbox; ++i) passed.push_back(fds[i].get());
  for (const UniqueFd& file : cgroups) passed.push_back(file.get());
  for (std::size_t i = wire::kNamespacesOfASandbox; i < fds.size(); ++i) {
    passed.push_back(fds[i].get());
  }
  return zygote->join(passed, {.cgroups = cgroups.size(),
                               .change_user = slice_.has_value(),
                               .landlock = fds.size() > kLeast,
                               .hurry = wish_.hurry});
}

Sandbox JailBirth::take_sandbox() {
  finished_ = true;
  Sandbox sandbox(std::move(id_), wish_.request.limits, walls_, std::move(cgroup_),
                  std::move(init_), slice_);
  sandbox.hold(zygote_held_);
  sandbox.hold_layers(std::move(wish_.layers));
  if (network_) sandbox.keep_network(std::move(*network_));
  if (runtime_ != RuntimeKind::kNone) {
    sandbox.joining.emplace(
        Sandbox::Joining{wish_.request.template_name, zygote_uid_, Clock::now() + kBirthJoinsWithin});
  }
  if (is_session()) {
    const std::string& name = wish_.request.template_name;
    ::fcntl(setup_.get(), F_SETFL, O_NONBLOCK);  // a guest may be at its other end one day
    sandbox.become_session({.setup = std::move(setup_),
                            .server_end = std::move(wish_.fds[1]),
                            .upper = std::move(upper_),
                            .template_name = name,
                            .generation = making_.broods->generation_of(name),
                            .zygote_uid = session_zygote_,
                            .init_pid = init_pid_});
  }
  if (waits()) {
    UniqueFd link = wish_.fds.empty() ? UniqueFd() : std::move(wish_.fds[0]);
    sandbox.wait_with({std::move(setup_), std::move(link), std::move(upper_)});
  }
  return sandbox;
}

JailWish JailBirth::take_wish() {
  JailWish wish;
  wish.request = wish_.request;
  wish.fds = std::move(wish_.fds);
  wish.caller = wish_.caller;
  wish.ticket = wish_.ticket;
  wish.hurry = wish_.hurry;
  wish.layers = std::move(wish_.layers);
  wish.layer_tree = wish_.layer_tree;
  return wish;
}

JailBirth::~JailBirth() {
  if (finished_) return;
  if (has_zygote_) making_.broods->joined(wish_.request.template_name, zygote_uid_);
  if (init_) {
    sys::send_signal(init_.get(), SIGKILL);
    pollfd dead{init_.get(), POLLIN, 0};
    ::poll(&dead, 1, kJailDiesWithinMs);
  }
  if (slice_) (*making_.slices)->give_back(*slice_);
}

}  // namespace glovebox::launcher
