#include "launcher/jail/jail_setup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>

#include "base/fd_message.h"
#include "launcher/policy/request_checks.h"
#include "model/environment.h"
#include "model/template_rules.h"
#include "sys/clone.h"
#include "sys/file.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr std::chrono::seconds kSetupTimeout{20};
// Shorter, because modules that a client chose could delay it.
constexpr std::chrono::seconds kOwnZygoteSetupTimeout{2};
constexpr int kJailExitTimeoutMs = 2000;
constexpr const char* kAgentOomScore = "-999";

// The next message of the sandbox's first process. It is our own program and the only one in the
// sandbox so far; its messages are bounded all the same.
Result<Received> receive_plan_message(int socket, std::size_t max_fds, wire::PlanMessage& message) {
  auto arrived = receive_message(socket, wire::kMaxPlanMessage, max_fds);
  // It ended before it had read all that we sent. The kernel says so once, ahead of what it said
  // itself.
  if (!arrived && arrived.error().sys_errno() == ECONNRESET) {
    arrived = receive_message(socket, wire::kMaxPlanMessage, max_fds);
  }
  TRY(Received received, std::move(arrived));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the sandbox's first process died");
  TRY(message, wire::decode_plan_message(received.bytes));
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    // Not every kernel can; it was asked for, so this is no internal error.
    const std::string& step = failed->step;
    if (step.starts_with("prepare the network") || step.starts_with("prepare reuse") ||
        step.starts_with("make the scratch")) {
      return fail(Error(Errc::kUnsupported, failed->step, failed->sys_errno));
    }
    return fail(setup_failure(failed->step, failed->sys_errno));
  }
  return received;
}

}  // namespace

Result<> JailSetup::begin() {
  const wire::CreateSandbox& request = request_.create;
  const Template* description = resources_.nurseries->find(request.template_name);
  if (description == nullptr)
    return fail(Errc::kNotFound, "template '" + request.template_name + "' was removed");
  runtime_ = request.warm ? description->runtime : RuntimeKind::kNone;
  layers_ = description->layers;
  image_ = description->root;
  environment_ = description->env;
  if (runtime_ == RuntimeKind::kPython) {
    TRY(Zygote * zygote, resources_.nurseries->zygote_for(request.template_name));
    zygote_uid_ = zygote->uid();
    zygote_uid_lease_ = zygote->uid_lease();
    ++zygote->pending;
    has_zygote_ = true;
  }
  if (request.reusable) TRY_OK(check_reusable());
  if (is_session() && description->runtime == RuntimeKind::kPython) {
    // Optional here: if it is not ready, it is started for the next session.
    if (auto zygote = resources_.nurseries->zygote_for(request.template_name)) {
      session_zygote_ = (*zygote)->uid();
      zygote_uid_lease_ = (*zygote)->uid_lease();
    }
  }
  const bool could_be_delayed = has_zygote_ && is_dynamic_template_id(request.template_name);
  deadline_ = Clock::now() + (could_be_delayed ? kOwnZygoteSetupTimeout : kSetupTimeout);
  // First, because the broker takes longest and works while the following is prepared.
  TRY(Nursery * nursery,
      resources_.nurseries->nursery_for(request.template_name, in_template_nursery()));
  broker_ = nursery->pid();
  // Made ahead: it may become any tenant's, and a process is not moved later: decision 0042.
  const std::uint64_t tenant = request.waits && !request.reusable ? 0 : request.tenant;
  TRY(sys::CgroupRoots roots, resources_.parents->roots_for(tenant));
  roots.v2_directly = false;  // a jail dies with its PID 1
  if (!is_session()) roots.v1_freezer.clear();
  const auto& family = *resources_.family;
  TRY(cgroup_,
      sys::Cgroup::create(roots, family ? &*family : nullptr, resources_.state->cgroup_name(id_),
                          cgroup_limits(request.limits)));
  TRY_OK(check_enforceable(request.limits, cgroup_.features()));
  std::optional<UidSlices>& slices = *resources_.slices;
  if (slices && may_have_slice()) {
    TRY(slice_, slices->take());
  }
  TRY(SocketPair setup, seqpacket_pair());
  const int on = 1;
  ::setsockopt(setup.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  const std::uint32_t first = slice_.value_or(0);
  wire::MakeSandbox make;
  make.slice_first = first;
  make.slice_count = slice_ ? slices->size() : 1;
  make.maker = has_zygote_ ? zygote_uid_ : session_zygote_ != 0 ? session_zygote_ : first;
  // RLIMIT_NPROC bounds each user, and root inside may be many.
  if (is_session() && slice_ && !cgroup_.features().pids) make.processes = request.limits.pids;
  TRY(broker_request_, nursery->request_sandbox(make, setup.theirs.get(), cgroup_.v2_dir()));
  setup_ = std::move(setup.ours);
  return {};
}

// Reuse needs a clean interpreter to fork from, an agent with another uid than the guest, and
// nothing writable that outlives a call.
Result<> JailSetup::check_reusable() const {
  const wire::CreateSandbox& request = request_.create;
  if (!request.waits || !has_zygote_) {
    return fail(Errc::kUnsupported, "only a sandbox with a Python runtime can be used again");
  }
  if (!*resources_.slices) {
    return fail(Errc::kUnsupported,
                "without a range of uids for sandboxes (rootless) no sandbox is used again");
  }
  if (request.network != NetworkStage::kNone) {
    return fail(Errc::kUnsupported, "a sandbox with a network is not used again");
  }
  const auto is_writable = [](const auto& one) { return one.mode == MountMode::kReadWrite; };
  if (std::any_of(request.mounts.begin(), request.mounts.end(), is_writable)) {
    return fail(Errc::kPolicy, "a sandbox with a writable mount is not used again");
  }
  return {};
}

Result<> JailSetup::send_basics() {
  TRY(const UniqueFd dev, (*resources_.files)->build_dev());
  TRY(join_files_, open_join_files());
  const std::size_t first = has_zygote_ && cgroup_.v2_dir() >= 0 ? 1 : 0;
  std::vector<int> passed = {dev.get()};
  for (std::size_t i = first; i < join_files_.size(); ++i) passed.push_back(join_files_[i].get());
  const wire::SandboxBasics basics{static_cast<std::uint8_t>(join_files_.size() - first),
                                   request_.create.network, **resources_.shares,
                                   request_.create.reusable};
  TRY_OK(send_message(setup_.get(), wire::encode(wire::PlanMessage(basics)), passed));
  TRY(upper_, (*resources_.files)->build_upper(request_.create.limits, owner_with(-1)));
  return {};
}

Result<std::vector<UniqueFd>> JailSetup::open_join_files() const {
  // The first process joins as root inside, which is another user than this launcher's.
  if (resources_.rootless && slice_) {
    return cgroup_.open_join_files_as((*resources_.slices)->host_uid(*slice_));
  }
  // The same files for the zygote's child, which is not born into the v2 one.
  using JoinV2 = sys::Cgroup::JoinV2;
  return cgroup_.open_join_files(has_zygote_ ? JoinV2::kYes : JoinV2::kNo);
}

Owner JailSetup::owner_with(int userns) const {
  const std::optional<UidSlices>& slices = *resources_.slices;
  return {.host_uid = slice_ ? slices->host_uid(*slice_) : 0,
          .userns = userns,
          .own_slice = slice_.has_value(),
          .rootless = resources_.rootless,
          .kind = is_session() ? RootKind::kSession : RootKind::kRun,
          // A host with few runs keeps nothing.
          .keeps_lower = slice_ && slices->is_used_again(*slice_)};
}

int JailSetup::event_fd() const {
  if (stage_ != Stage::kRequested) return setup_.get();
  const Nursery* nursery =
      resources_.nurseries->find_nursery(request_.create.template_name, in_template_nursery());
  return nursery != nullptr ? nursery->socket() : -1;
}

bool JailSetup::broker_is_gone() const {
  const Nursery* nursery =
      resources_.nurseries->find_nursery(request_.create.template_name, in_template_nursery());
  if (nursery == nullptr || nursery->pid() != broker_) return broker_ != 0;
  // A killed process takes a moment to exit, and only then its pidfd becomes readable.
  constexpr int kMomentMs = 50;
  pollfd dead{nursery->pidfd(), POLLIN, 0};
  return ::poll(&dead, 1, kMomentMs) == 1;
}

Result<bool> JailSetup::advance(Clock::time_point now) {
  if (stage_ == Stage::kRequested) {
    TRY(const bool answered, on_answer());
    if (answered) stage_ = Stage::kStarted;
  }
  if (stage_ == Stage::kStarted && sys::is_readable(setup_.get())) {
    TRY_OK(on_hello());
    stage_ = Stage::kPlanned;
  }
  if (stage_ == Stage::kPlanned && sys::is_readable(setup_.get())) {
    TRY_OK(on_sealed());
    stage_ = Stage::kDone;
  }
  if (stage_ != Stage::kDone && now > deadline_) {
    return fail(Errc::kTimeout, "the sandbox's first process did not answer in time");
  }
  return stage_ == Stage::kDone;
}

Result<bool> JailSetup::on_answer() {
  Nursery* nursery =
      resources_.nurseries->find_nursery(request_.create.template_name, in_template_nursery());
  if (nursery == nullptr || nursery->pid() != broker_) {
    return fail(Errc::kUnavailable, "the broker has exited");
  }
  TRY(std::optional<UniqueFd> process, nursery->take_answer(broker_request_));
  if (!process) return false;
  init_ = std::move(*process);
  return true;
}

Result<> JailSetup::on_hello() {
  const wire::CreateSandbox& request = request_.create;
  wire::PlanMessage message;
  TRY(const Received hello, receive_plan_message(setup_.get(), 1, message));
  if (!std::holds_alternative<wire::SandboxHello>(message) || hello.fds.size() != 1 ||
      hello.sender_pid <= 0) {
    return fail(Errc::kProtocol, "the sandbox's first process did not send its hello");
  }
  const Owner owner = owner_with(hello.fds[0].get());
  RootBuilder& builder = **resources_.files;
  TRY(SandboxMounts files, builder.build(std::move(upper_), owner, layers_, image_));
  const MountContext mounting{*resources_.policy, resources_.rootless, builder};
  const std::span<const UniqueFd> fds = request_.fds;
  TRY(const std::vector<UniqueFd> mounts,
      build_mounts(mounting, request.mounts, fds.empty() ? fds : fds.subspan(is_session() ? 2 : 1),
                   request_.caller, owner.host_uid));
  std::vector<int> passed = {files.root.get(), files.usr.get(), files.shm.get(),
                             files.boot_id.get()};
  if (is_session()) passed.push_back(files.upper.get());
  std::vector<UniqueFd> scratch;
  if (request.reusable) {
    TRY(scratch, builder.build_scratch(request.limits, owner));
    for (const UniqueFd& one : scratch) passed.push_back(one.get());
  }
  for (const UniqueFd& mount : mounts) passed.push_back(mount.get());
  UniqueFd layer;
  if (!request_.layer_tree.empty()) {
    const MountMode mode = request.make_layer ? MountMode::kReadWrite : MountMode::kReadOnly;
    TRY(layer, builder.build_layer(request_.layer_tree, mode, owner));
    passed.push_back(layer.get());
  }
  if (!send_message(setup_.get(), wire::encode(wire::PlanMessage(plan())), passed)) {
    TRY_OK(receive_plan_message(setup_.get(), kMaxPassedFds, message));  // why it ended
    return fail(Errc::kUnavailable, "the sandbox's first process died");
  }
  if (!waits()) {
    const int link[] = {request_.fds[0].get()};
    const wire::PlanMessage taken = wire::SandboxTaken{request.limits};
    if (!send_message(setup_.get(), wire::encode(taken), link)) {
      return fail(Errc::kUnavailable, "the sandbox's first process died");
    }
  }
  // Needs CAP_SYS_RESOURCE, which root in a container may lack. Without it the agent, the smallest
  // process of all, is still the last that the OOM killer would choose.
  (void)sys::write_control(AT_FDCWD, "/proc/" + std::to_string(hello.sender_pid) + "/oom_score_adj",
                           kAgentOomScore);
  init_pid_ = hello.sender_pid;
  idmapped_ = files.idmapped;
  has_copies_ = files.has_copies;
  upper_ = std::move(files.upper);
  return {};
}

wire::SandboxPlan JailSetup::plan() const {
  wire::SandboxPlan plan;
  plan.limits = request_.create.limits;
  plan.memory_is_bounded = cgroup_.features().memory;
  plan.cpu_time_is_counted = cgroup_.features().cpu_time;
  plan.session = is_session();
  plan.image = !image_.empty();
  plan.runtime = runtime_;
  if (runtime_ == RuntimeKind::kNode) {
    // An image's own is searched on the image's PATH, which its template has.
    plan.runtime_argv = {plan.image ? "node" : "/usr/bin/node", "/opt/glovebox/node/run.js",
                         "wait"};
    plan.runtime_env = joined_environment(base_environment(), environment_);
  }
  for (const wire::MountRequest& mount : request_.create.mounts) {
    plan.mounts.push_back(mount.guest);
    plan.mount_is_writable.push_back(mount.mode == MountMode::kReadWrite ? 1 : 0);
  }
  if (!request_.layer_tree.empty()) {
    plan.mounts.push_back(*GuestPath::parse(kLayerMountPoint));
    plan.mount_is_writable.push_back(request_.create.make_layer ? 1 : 0);
  }
  return plan;
}

Result<> JailSetup::on_sealed() {
  wire::PlanMessage message;
  auto arrived = receive_plan_message(setup_.get(), kMaxPassedFds, message);
  // An image need not have it: the server makes a sandbox in which nothing waits.
  if (!arrived && runtime_ == RuntimeKind::kNode && !image_.empty()) {
    return fail(Errc::kUnavailable, "node of the image: " + arrived.error().message());
  }
  TRY(Received received, std::move(arrived));
  const auto* sealed = std::get_if<wire::SandboxSealed>(&message);
  if (sealed == nullptr)
    return fail(Errc::kProtocol, "the sandbox's first process did not report its walls");
  walls_ = sealed->walls;
  if (sealed->network) {
    if (received.fds.size() < wire::kSocketsOfANetwork) {
      return fail(Errc::kProtocol, "the sandbox's first process passed no sockets for its network");
    }
    network_.emplace(Sandbox::Network{std::move(received.fds[0]), std::move(received.fds[1]),
                                      request_.create.network == NetworkStage::kUp});
    received.fds.erase(received.fds.begin(), received.fds.begin() + wire::kSocketsOfANetwork);
  }
  if (idmapped_) walls_.add(Wall::kIdmappedLayers);
  if (has_copies_) walls_.add(Wall::kRootOwnedCopies);
  add_limit_walls(cgroup_.features(), walls_);
  if (is_session() && cgroup_.features().freezer) walls_.add(Wall::kFreezer);
  // RLIMIT_NPROC counts per user and user namespace, and in a session for all its users together
  // (begin()), so it bounds one sandbox exactly as a cgroup.
  walls_.add(Wall::kPidsLimit);
  return has_zygote_ ? request_join(received.fds) : Result<>();
}

// Gives the zygote the sandbox's descriptors; the agent reports whether the child has arrived.
Result<> JailSetup::request_join(std::span<UniqueFd> fds) {
  constexpr std::size_t kMinFds = wire::kNamespacesOfASandbox + wire::kDescriptorsOfARuntime;
  if (fds.size() != kMinFds && fds.size() != kMinFds + 1) {
    return fail(Errc::kProtocol,
                "the sandbox's first process passed the wrong number of descriptors");
  }
  Zygote* zygote = resources_.nurseries->find_zygote(request_.create.template_name, zygote_uid_);
  if (zygote == nullptr) return fail(Errc::kUnavailable, "the zygote has ended");
  std::vector<int> passed;
  for (std::size_t i = 0; i < wire::kNamespacesOfASandbox; ++i) passed.push_back(fds[i].get());
  for (const UniqueFd& file : join_files_) passed.push_back(file.get());
  for (std::size_t i = wire::kNamespacesOfASandbox; i < fds.size(); ++i) {
    passed.push_back(fds[i].get());
  }
  landlock_ = fds.size() > kMinFds;
  TRY_OK(zygote->join(passed, {.cgroups = join_files_.size(),
                               .change_user = slice_.has_value(),
                               .landlock = landlock_,
                               .hurry = request_.create.hurry}));
  if (request_.create.reusable) {
    const auto last = fds.begin() + wire::kNamespacesOfASandbox;
    namespaces_.assign(std::make_move_iterator(fds.begin()), std::make_move_iterator(last));
  }
  return {};
}

Sandbox JailSetup::take_sandbox() {
  finished_ = true;
  Sandbox sandbox(std::move(id_), request_.create.limits, walls_, std::move(cgroup_),
                  std::move(init_), slice_);
  sandbox.hold_uid(zygote_uid_lease_);
  sandbox.hold_layers(std::move(request_.layers));
  if (network_) sandbox.set_network(std::move(*network_));
  if (runtime_ != RuntimeKind::kNone) {
    sandbox.joining.emplace(Sandbox::Joining{request_.create.template_name, zygote_uid_,
                                             Clock::now() + Sandbox::kJoinTimeout,
                                             Clock::now() + Sandbox::kLongestJoin});
  }
  if (is_session()) {
    const std::string& name = request_.create.template_name;
    ::fcntl(setup_.get(), F_SETFL, O_NONBLOCK);  // a guest may take over its other end
    sandbox.become_session({.setup = std::move(setup_),
                            .server_end = std::move(request_.fds[1]),
                            .upper = std::move(upper_),
                            .template_name = name,
                            .generation = resources_.nurseries->generation_of(name),
                            .zygote_uid = session_zygote_,
                            .init_pid = init_pid_});
  }
  if (request_.create.reusable) {
    const std::string& name = request_.create.template_name;
    sandbox.become_reusable({.template_name = name,
                             .generation = resources_.nurseries->generation_of(name),
                             .zygote_uid = zygote_uid_,
                             .namespaces = std::move(namespaces_),
                             .join_files = std::move(join_files_),
                             .landlock = landlock_});
  }
  if (waits()) {
    UniqueFd link = request_.fds.empty() ? UniqueFd() : std::move(request_.fds[0]);
    sandbox.wait_with({std::move(setup_), std::move(link), std::move(upper_)});
  }
  return sandbox;
}

JailRequest JailSetup::take_request() {
  JailRequest request;
  request.create = request_.create;
  request.fds = std::move(request_.fds);
  request.caller = request_.caller;
  request.ticket = request_.ticket;
  request.layers = std::move(request_.layers);
  request.layer_tree = request_.layer_tree;
  return request;
}

JailSetup::~JailSetup() {
  if (finished_) return;
  if (has_zygote_) resources_.nurseries->join_finished(request_.create.template_name, zygote_uid_);
  if (init_) {
    sys::send_signal(init_.get(), SIGKILL);
    pollfd dead{init_.get(), POLLIN, 0};
    ::poll(&dead, 1, kJailExitTimeoutMs);
  }
  if (slice_) (*resources_.slices)->give_back(*slice_);
}

}  // namespace glovebox::launcher
