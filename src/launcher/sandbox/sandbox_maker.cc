#include "launcher/sandbox/sandbox_maker.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/policy/request_checks.h"
#include "launcher/sandbox/process_maker.h"
#include "model/template_rules.h"
#include "sys/clone.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr int kSetupStepMs = 20'000;

Result<WallSet> await_sealed(int socket) {
  pollfd ready{socket, POLLIN, 0};
  if (::poll(&ready, 1, kSetupStepMs) != 1) {
    return fail(Errc::kTimeout, "the sandbox's first process did not answer in time");
  }
  TRY(const Received received, receive_message(socket, wire::kMaxPlanMessage, 0));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the sandbox's first process died");
  TRY(const wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    return fail(setup_failure(failed->step, failed->sys_errno));
  }
  const auto* sealed = std::get_if<wire::SandboxSealed>(&message);
  if (sealed == nullptr)
    return fail(Errc::kProtocol, "the sandbox's first process did not report its walls");
  return sealed->walls;
}

// A layer is as trusted as a program of root: a user who can write it gets into every sandbox that
// uses it.
Result<> check_layers(const std::vector<std::string>& layers) {
  for (const std::string& layer : layers) {
    struct stat info {};
    if (::lstat(layer.c_str(), &info) != 0) return fail(Error::from_errno("layer " + layer));
    if (!S_ISDIR(info.st_mode) || (info.st_uid != 0 && info.st_uid != ::geteuid()) ||
        (info.st_mode & 022) != 0) {
      return fail(Errc::kPolicy,
                  "layer " + layer +
                      " must be a directory that is owned by root and writable by root only");
    }
  }
  return {};
}

}  // namespace

SandboxMaker::SandboxMaker(MakerConfig config, Policy policy, sys::CgroupRoots roots,
                           StateDir state, sys::CgroupParents parents)
    : config_(std::move(config)),
      policy_(std::move(policy)),
      roots_(std::move(roots)),
      state_(std::move(state)),
      parents_(std::move(parents)),
      layer_store_(config_.layers_dir),
      definitions_(
          [this](const std::string& id) { return layer_store_.use(id, LayerStore::Counts::kYes); }),
      jails_({.layers_dir = config_.layers_dir,
              .rootless = config_.rootless,
              .sandboxes = config_.sandboxes,
              .zygotes = config_.zygotes,
              .read_shares = config_.read_shares,
              .policy = &policy_,
              .roots = &roots_,
              .parents = &parents_,
              .state = &state_,
              .agent = &agent_,
              .slices = &slices_,
              .prepare_users = [this] { return prepare_users(); },
              .layer_store = &layer_store_}) {
  if (config_.sandboxes == Expected::kMany) reload_templates();
}

std::vector<Template> SandboxMaker::usable(std::vector<TemplateFile> files) const {
  std::vector<Template> good;
  for (TemplateFile& loaded : files) {
    if (loaded.content) {
      if (auto checked = check_layers(loaded.content->layers); !checked) {
        log::warn("a template is ignored", {{"error", checked.error().message()}});
        continue;
      }
      loaded.content->limits = within_ceilings(policy_, loaded.content->limits);
      good.push_back(std::move(*loaded.content));
    } else {
      log::warn("a template is ignored", {{"error", loaded.content.error().message()}});
    }
  }
  return good;
}

void SandboxMaker::know_template(const std::string& name) {
  if (knows_all_templates_ || jails_.nurseries().find(name) != nullptr) return;
  for (Template& one : usable(load_template(config_.templates_dir, name))) {
    jails_.nurseries().put_template(std::move(one));
  }
}

void SandboxMaker::know_all_templates() {
  if (!knows_all_templates_) reload_templates();
}

void SandboxMaker::reload_templates() {
  knows_all_templates_ = true;
  administrator_templates_ = usable(load_templates(config_.templates_dir));
  std::vector<Template> all = administrator_templates_;
  for (Template& one : definitions_.derive(administrator_templates_, policy_))
    all.push_back(std::move(one));
  jails_.nurseries().set_templates(std::move(all));
}

Result<> SandboxMaker::define_template(const TemplateDefinition& definition, const Client* owner) {
  know_all_templates();
  TRY(Template made, definitions_.define(definition, owner, administrator_templates_, policy_));
  jails_.nurseries().put_template(std::move(made));
  return {};
}

Result<> SandboxMaker::forget_template(const std::string& id, const Client* owner) {
  TRY_OK(definitions_.forget(id, owner));
  jails_.nurseries().remove_template(id);
  return {};
}

bool SandboxMaker::may_use(const std::string& template_name, const Client* client) const {
  return !is_dynamic_template_id(template_name) || definitions_.belongs_to(template_name, client);
}

void SandboxMaker::client_gone(const Client* client) {
  definitions_.owner_gone(client, TemplateDefinitions::Clock::now());
}

void SandboxMaker::tidy_templates(const std::set<std::string>& in_use) {
  for (const std::string& id : definitions_.remove_orphans(TemplateDefinitions::Clock::now())) {
    jails_.nurseries().remove_template(id);
  }
  jails_.nurseries().tidy(in_use);
}

void SandboxMaker::host_files_changed() {
  if (auto refreshed = jails_.refresh_files(); !refreshed) {
    log::warn("the host's layer could not be rebuilt", {{"error", refreshed.error().message()}});
  }
  jails_.nurseries().replace_all_zygotes();
}

Result<std::optional<Sandbox>> SandboxMaker::make(const wire::CreateSandbox& asked,
                                                  std::vector<UniqueFd> fds, const Caller& caller,
                                                  const Client* client, std::uint64_t ticket) {
  wire::CreateSandbox request = asked;
  request.limits = within_ceilings(policy_, asked.limits);
  know_template(request.template_name);
  TRY_OK(check(request, fds.size(), caller));
  TRY_OK(check_link(fds[0].get(), request.session ? LinkOf::kSession : LinkOf::kRun));
  if (request.session) TRY_OK(check_link(fds[1].get(), LinkOf::kSession));
  TRY_OK(check_room());
  TRY_OK(prepare_users());
  if (request.engine == EngineKind::kJail) {
    JailRequest jail_request{std::move(request), std::move(fds), caller, ticket};
    TRY_OK(hold_layers(jail_request, client));
    jails_.begin(std::move(jail_request));
    return std::optional<Sandbox>();
  }
  SandboxId id = SandboxId::make();
  TRY(sys::CgroupRoots roots, parents_.roots_for(request.tenant));
  roots.v1_freezer.clear();
  TRY(sys::Cgroup cgroup,
      sys::Cgroup::create(roots, nullptr, state_.cgroup_name(id), cgroup_limits(request.limits)));
  TRY_OK(check_enforceable(request.limits, cgroup.features()));
  TRY(Sandbox sandbox, make_process(request, std::move(fds), std::move(id), std::move(cgroup)));
  return std::optional<Sandbox>(std::move(sandbox));
}

// Before anything is begun: what fails for lack of processes fails half-way, in a sandbox.
Result<> SandboxMaker::check_room() const {
  const std::uint32_t most = parents_.totals().pids;
  // Its agent, a runtime and a program at least.
  const std::uint32_t needed = std::min(32u, most / 8);
  const auto now = most != 0 ? parents_.pids() : std::nullopt;
  if (now && *now + needed > most) {
    return fail(Errc::kResourceExhausted,
                "the sandboxes of this host have " + std::to_string(*now) + " of the " +
                    std::to_string(most) + " processes that they may have together");
  }
  if (memory_is_short_) {
    return fail(Errc::kResourceExhausted,
                "the sandboxes of this host use almost all memory that they may have together");
  }
  return {};
}

Result<> SandboxMaker::hold_layers(JailRequest& jail_request, const Client* client) {
  const wire::CreateSandbox& request = jail_request.create;
  const Template* description = jails_.nurseries().find(request.template_name);
  if (description != nullptr) {
    std::vector<std::string> trees = description->layers;
    if (!description->root.empty()) trees.push_back(description->root);
    TRY(jail_request.layers, layer_store_.use_trees(trees));
  }
  if (request.layer.empty()) return {};
  TRY(LayerRef layer, request.make_layer
                          ? layer_store_.begin(request.layer, client)
                          : layer_store_.use(request.layer, LayerStore::Counts::kNo));
  jail_request.layer_tree = layer->tree;
  jail_request.layers.push_back(std::move(layer));
  return {};
}

Result<> SandboxMaker::check_layer(const wire::CreateSandbox& request, const Caller& caller) const {
  if (request.layer.empty()) {
    if (request.make_layer) return fail(Errc::kProtocol, "make_layer needs the id of a layer");
    return {};
  }
  if (!caller.is_server || !request.session) {
    return fail(Errc::kPolicy, "only a session of a server may make or read a layer");
  }
  const std::string layer_dir = kLayerMountPoint;
  for (const wire::MountRequest& mount : request.mounts) {
    if (mount.guest.str() == layer_dir || mount.guest.str().starts_with(layer_dir + "/")) {
      return fail(Errc::kPolicy, "nothing else may be mounted at " + layer_dir);
    }
  }
  return {};
}

Result<> SandboxMaker::check(const wire::CreateSandbox& request, std::size_t fds,
                             const Caller& caller) const {
  const Template* description = jails_.nurseries().find(request.template_name);
  if (description == nullptr) {
    return fail(Errc::kNotFound, "there is no template '" + request.template_name + "'");
  }
  const auto given =
      std::count_if(request.mounts.begin(), request.mounts.end(),
                    [](const wire::MountRequest& mount) { return mount.name.empty(); });
  if (fds != (request.session ? 2u : 1u) + static_cast<std::size_t>(given)) {
    return fail(Errc::kProtocol, "the request has " + std::to_string(fds) +
                                     " descriptors, which do not fit its mounts");
  }
  if (caller.is_server && given > 0) {
    return fail(Errc::kPolicy, "a server may only mount entries of the administrator's list");
  }
  if (caller.is_server && request.engine != EngineKind::kJail) {
    return fail(Errc::kPolicy, "a server may only use the jail engine");
  }
  if (request.session && !caller.is_server) {
    return fail(Errc::kPolicy, "only a server may create sessions");
  }
  if (request.session && (request.warm || request.waits)) {
    return fail(Errc::kProtocol, "a session cannot be warm or made in advance");
  }
  TRY_OK(check_layer(request, caller));
  if ((request.warm || request.waits) && request.engine != EngineKind::kJail) {
    return fail(Errc::kUnsupported, "only jails can be made in advance");
  }
  if (request.warm && description->runtime == RuntimeKind::kNone) {
    return fail(Errc::kUnsupported, "template '" + request.template_name + "' has no runtime");
  }
  if (request.waits && request.network == NetworkStage::kUp) {
    return fail(Errc::kProtocol, "the network of a sandbox that waits cannot be up yet");
  }
  if (request.engine == EngineKind::kProcess) {
    if (request.network != NetworkStage::kNone) {
      return fail(Errc::kUnsupported,
                  "the process engine uses the host's network and cannot restrict it");
    }
    if (!policy_.allow_process_engine) {
      return fail(Errc::kPolicy, "the launcher's policy does not allow the process engine");
    }
    if (!request.mounts.empty()) {
      return fail(Errc::kUnsupported, "the process engine does not support mounts");
    }
    if (request.limits.was_asked_for(LimitKind::kDisk)) {
      return fail(
          Errc::kUnsupported,
          "a disk limit was asked for, but the process engine writes to the host's disk and "
          "can only limit the size of each file");
    }
  }
  for (const wire::MountRequest& mount : request.mounts)
    TRY_OK(check_named_mount(mount, request.project));
  if (given > 0 && !policy_.allow_mounts) {
    return fail(Errc::kPolicy, "the launcher's policy does not allow mounts");
  }
  for (const wire::MountRequest& mount : request.mounts) {
    if (mount.name.empty() && mount.mode == MountMode::kReadWrite &&
        !policy_.allow_writable_mounts) {
      return fail(Errc::kPolicy, "the launcher's policy does not allow writable mounts");
    }
    const std::string& guest = mount.guest.str();
    for (const std::string reserved :
         {"/", "/proc", "/dev", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"}) {
      if (guest == reserved || (reserved != "/" && guest.rfind(reserved + "/", 0) == 0)) {
        return fail(Errc::kPolicy, "nothing may be mounted at " + guest);
      }
    }
  }
  return check_limits(policy_, request.limits);
}

Result<> SandboxMaker::check_named_mount(const wire::MountRequest& mount,
                                         const std::string& project) const {
  if (mount.name.empty()) return {};
  if (mount.name[0] == '/') return check_mount_by_path(mount);
  const auto listed = policy_.named_mounts.find(mount.name);
  const auto allows = [&project](const NamedMount& one) {
    return one.projects.empty() ||
           std::find(one.projects.begin(), one.projects.end(), project) != one.projects.end();
  };
  // The same error for another project's entry: a client must not learn that it exists.
  if (listed == policy_.named_mounts.end() || !allows(listed->second)) {
    return fail(Errc::kPolicy,
                "there is no mount '" + mount.name + "' in the administrator's list");
  }
  if (mount.mode == MountMode::kReadWrite && !listed->second.writable) {
    return fail(Errc::kPolicy, "mount '" + mount.name + "' is read-only");
  }
  return {};
}

// A mount by host path, which only clients of a private server may request. The source itself is
// checked when it is opened.
Result<> SandboxMaker::check_mount_by_path(const wire::MountRequest& mount) const {
  if (!policy_.mounts_by_path) {
    return fail(Errc::kPolicy,
                "a server may only mount entries of the administrator's list, not the host path " +
                    mount.name);
  }
  if (!policy_.allow_mounts) {
    return fail(Errc::kPolicy, "the launcher's policy does not allow mounts");
  }
  if (mount.mode == MountMode::kReadWrite && !policy_.allow_writable_mounts) {
    return fail(Errc::kPolicy, "the launcher's policy does not allow writable mounts");
  }
  return {};
}

// The agent and the nurseries' uid slice, prepared when the first sandbox is made.
Result<> SandboxMaker::prepare_users() {
  if (!agent_) {
    TRY(agent_, open_agent(config_.agent_path));
  }
  if (!config_.rootless && !slices_) {
    TRY(UidSlices slices,
        UidSlices::open(state_.base() + "/slices", policy_.uid_first, policy_.uid_last));
    slices_.emplace(std::move(slices));
  }
  return {};
}

Result<Sandbox> SandboxMaker::make_process(const wire::CreateSandbox& request,
                                           std::vector<UniqueFd> fds, SandboxId id,
                                           sys::Cgroup cgroup) {
  ProcessStart start;
  start.home = state_.home_of(id);
  std::optional<std::uint32_t> slice;
  if (slices_ && !config_.rootless) {
    TRY(slice, slices_->take());
    start.host_uid = slices_->host_uid(*slice) + 1000;
  }
  TRY(SocketPair setup, seqpacket_pair());
  // On every error below: kill the process, clean up, and give the slice back.
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
  plan.cpu_time_is_counted = cgroup.features().cpu_time;
  plan.own_uid = start.host_uid.has_value();
  plan.home = start.home;
  TRY_OK(send_message(setup.ours.get(), wire::encode(wire::PlanMessage(plan))));
  TRY(WallSet walls, await_sealed(setup.ours.get()));
  add_limit_walls(cgroup.features(), walls);
  if (cgroup.features().pids || start.host_uid) walls.add(Wall::kPidsLimit);
  undo.maker = nullptr;
  return Sandbox(std::move(id), request.limits, walls, std::move(cgroup), std::move(init), slice,
                 std::move(start));
}

Result<Limits> SandboxMaker::checked_limits(const Limits& asked) const {
  const Limits limits = within_ceilings(policy_, asked);
  TRY_OK(check_limits(policy_, limits));
  return limits;
}

Result<> SandboxMaker::prepare_template(const std::string& name) {
  know_template(name);
  return jails_.nurseries().prepare(name);
}

void SandboxMaker::shut_down() {
  jails_.shut_down();
  state_.remove();
}

void SandboxMaker::release(const Sandbox& sandbox) {
  if (sandbox.slice() && slices_) slices_->give_back(*sandbox.slice());
}

}  // namespace glovebox::launcher
