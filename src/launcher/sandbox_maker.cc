#include "launcher/sandbox_maker.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/process_maker.h"
#include "launcher/request_checks.h"
#include "launcher/template_file.h"
#include "model/template_rules.h"
#include "sys/clone.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

constexpr int kSetupStepMs = 20'000;

Result<WallSet> await_sealed(int socket) {
  pollfd ready{socket, POLLIN, 0};
  if (::poll(&ready, 1, kSetupStepMs) != 1) {
    return fail(Errc::kTimeout, "the sandbox's first process does not answer");
  }
  TRY(const Received received, receive_message(socket, wire::kMaxPlanMessage, 0));
  if (received.bytes.empty()) return fail(Errc::kUnavailable, "the sandbox's first process died");
  TRY(const wire::PlanMessage message, wire::decode_plan_message(received.bytes));
  if (const auto* failed = std::get_if<wire::SandboxFailed>(&message)) {
    return fail(Error(Errc::kInternal, failed->step, failed->sys_errno));
  }
  const auto* sealed = std::get_if<wire::SandboxSealed>(&message);
  if (sealed == nullptr) return fail(Errc::kProtocol, "the sandbox was not sealed");
  return sealed->walls;
}

// A layer is as good as a program of root's: whoever may write it is in every sandbox made of it.
Result<> check_layers(const std::vector<std::string>& layers) {
  for (const std::string& layer : layers) {
    struct stat info {};
    if (::lstat(layer.c_str(), &info) != 0) return fail(Error::from_errno("layer " + layer));
    if (!S_ISDIR(info.st_mode) || (info.st_uid != 0 && info.st_uid != ::geteuid()) ||
        (info.st_mode & 022) != 0) {
      return fail(Errc::kPolicy,
                  "layer " + layer + " must be a directory of root's that only root can write");
    }
  }
  return {};
}

}  // namespace

SandboxMaker::SandboxMaker(MakerConfig config, Policy policy, sys::CgroupRoots roots,
                           StateDir state)
    : config_(std::move(config)),
      policy_(std::move(policy)),
      roots_(std::move(roots)),
      state_(std::move(state)),
      shelf_(config_.layers_dir),
      definitions_(
          [this](const std::string& id) { return shelf_.use(id, LayerShelf::Counts::kYes); }),
      jails_({.layers_dir = config_.layers_dir,
              .rootless = config_.rootless,
              .zygotes = config_.zygotes,
              .policy = &policy_,
              .roots = &roots_,
              .state = &state_,
              .agent = &agent_,
              .slices = &slices_,
              .prepare_users = [this] { return prepare_users(); },
              .shelf = &shelf_}) {
  load_templates_again();
}

void SandboxMaker::load_templates_again() {
  std::vector<Template> good;
  for (TemplateFile& loaded : load_templates(config_.templates_dir)) {
    if (loaded.content) {
      if (auto checked = check_layers(loaded.content->layers); !checked) {
        log::warn("a template is not used", {{"error", checked.error().message()}});
        continue;
      }
      loaded.content->limits = within_ceilings(policy_, loaded.content->limits);
      good.push_back(std::move(*loaded.content));
    } else {
      log::warn("a template is not used", {{"error", loaded.content.error().message()}});
    }
  }
  files_ = std::move(good);
  std::vector<Template> all = files_;
  for (Template& one : definitions_.derive(files_, policy_)) all.push_back(std::move(one));
  jails_.broods().set_templates(std::move(all));
}

Result<> SandboxMaker::define_template(const TemplateDefinition& definition, const Client* owner) {
  TRY(Template made, definitions_.define(definition, owner, files_, policy_));
  jails_.broods().put_template(std::move(made));
  return {};
}

Result<> SandboxMaker::forget_template(const std::string& id, const Client* owner) {
  TRY_OK(definitions_.forget(id, owner));
  jails_.broods().remove_template(id);
  return {};
}

bool SandboxMaker::may_use(const std::string& template_name, const Client* client) const {
  return !is_dynamic_template_id(template_name) || definitions_.is_of(template_name, client);
}

void SandboxMaker::client_gone(const Client* client) {
  definitions_.owner_gone(client, Definitions::Clock::now());
}

void SandboxMaker::tidy_templates(const std::set<std::string>& in_use) {
  for (const std::string& id : definitions_.drop_orphans(Definitions::Clock::now())) {
    jails_.broods().remove_template(id);
  }
  jails_.broods().tidy(in_use);
}

void SandboxMaker::host_files_changed() {
  if (auto renewed = jails_.renew_files(); !renewed) {
    log::warn("the host's layer is not renewed", {{"error", renewed.error().message()}});
  }
  jails_.broods().renew_all();
}

Result<std::optional<Sandbox>> SandboxMaker::make(const wire::CreateSandbox& asked,
                                                  std::vector<UniqueFd> fds, const Caller& caller,
                                                  const Client* client, std::uint64_t ticket,
                                                  bool hurry) {
  wire::CreateSandbox request = asked;
  request.limits = within_ceilings(policy_, asked.limits);
  TRY_OK(check(request, fds.size(), caller));
  TRY_OK(check_link(fds[0].get()));
  if (request.session) TRY_OK(check_link(fds[1].get()));
  TRY_OK(prepare_users());
  if (request.engine == EngineKind::kJail) {
    JailWish wish{std::move(request), std::move(fds), caller, ticket, hurry};
    TRY_OK(hold_layers(wish, client));
    jails_.begin(std::move(wish));
    return std::optional<Sandbox>();
  }
  SandboxId id = SandboxId::make();
  sys::CgroupRoots roots = roots_;
  roots.v1_freezer.clear();
  TRY(sys::Cgroup cgroup,
      sys::Cgroup::create(roots, nullptr, state_.cgroup_name(id), bounds_of(request.limits)));
  TRY_OK(refuse_unenforceable(request.limits, cgroup.features()));
  TRY(Sandbox sandbox, make_process(request, std::move(fds), std::move(id), std::move(cgroup)));
  return std::optional<Sandbox>(std::move(sandbox));
}

Result<> SandboxMaker::hold_layers(JailWish& wish, const Client* client) {
  const wire::CreateSandbox& request = wish.request;
  const Template* description = jails_.broods().find(request.template_name);
  if (description != nullptr) {
    TRY(wish.layers, shelf_.use_trees(description->layers));
  }
  if (request.layer.empty()) return {};
  TRY(LayerHeld layer, request.make_layer ? shelf_.begin(request.layer, client)
                                          : shelf_.use(request.layer, LayerShelf::Counts::kNo));
  wish.layer_tree = layer->tree;
  wish.layers.push_back(std::move(layer));
  return {};
}

Result<> SandboxMaker::check_layer(const wire::CreateSandbox& request, const Caller& caller) const {
  if (request.layer.empty()) {
    if (request.make_layer) return fail(Errc::kProtocol, "a layer without an id");
    return {};
  }
  if (!caller.is_server || !request.session) {
    return fail(Errc::kPolicy, "only a server's session has a layer to make or to look at");
  }
  const std::string place = kLayerMountPoint;
  for (const wire::MountRequest& mount : request.mounts) {
    if (mount.guest.str() == place || mount.guest.str().starts_with(place + "/")) {
      return fail(Errc::kPolicy, "nothing else may be mounted at " + place);
    }
  }
  return {};
}

Result<> SandboxMaker::check(const wire::CreateSandbox& request, std::size_t fds,
                             const Caller& caller) const {
  const Template* description = jails_.broods().find(request.template_name);
  if (description == nullptr) {
    return fail(Errc::kNotFound, "there is no template '" + request.template_name + "'");
  }
  const auto given =
      std::count_if(request.mounts.begin(), request.mounts.end(),
                    [](const wire::MountRequest& mount) { return mount.name.empty(); });
  if (fds != (request.session ? 2u : 1u) + static_cast<std::size_t>(given)) {
    return fail(Errc::kProtocol, "a request has other descriptors than it says");
  }
  if (caller.is_server && given > 0) {
    return fail(Errc::kPolicy, "a server mounts entries of the administrator's list only");
  }
  if (caller.is_server && request.engine != EngineKind::kJail) {
    return fail(Errc::kPolicy, "a server has jails made, and nothing less");
  }
  if (request.session && !caller.is_server) {
    return fail(Errc::kPolicy, "only a server's sandboxes outlive their client");
  }
  if (request.session && (request.warm || request.waits)) {
    return fail(Errc::kProtocol, "a session is neither warm nor made ahead");
  }
  TRY_OK(check_layer(request, caller));
  if ((request.warm || request.waits) && request.engine != EngineKind::kJail) {
    return fail(Errc::kUnsupported, "only jails are made ahead");
  }
  if (request.warm && description->runtime == RuntimeKind::kNone) {
    return fail(Errc::kUnsupported, "this template has no runtime");
  }
  if (request.waits && request.network == NetworkStage::kUp) {
    return fail(Errc::kProtocol, "the network of a sandbox that waits is only prepared");
  }
  if (request.engine == EngineKind::kProcess) {
    if (request.network != NetworkStage::kNone) {
      return fail(Errc::kUnsupported,
                  "the process engine has no network of its own to decide about");
    }
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
  for (const wire::MountRequest& mount : request.mounts)
    TRY_OK(check_named(mount, request.project));
  if (given > 0 && !policy_.allow_mounts) {
    return fail(Errc::kPolicy, "the launcher's policy does not allow mounts");
  }
  for (const wire::MountRequest& mount : request.mounts) {
    if (mount.name.empty() && mount.mode == MountMode::kReadWrite &&
        !policy_.allow_writable_mounts) {
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

Result<> SandboxMaker::check_named(const wire::MountRequest& mount,
                                   const std::string& project) const {
  if (mount.name.empty()) return {};
  if (mount.name[0] == '/') return check_path(mount);
  const auto listed = policy_.named_mounts.find(mount.name);
  const auto allows = [&project](const NamedMount& one) {
    return one.projects.empty() ||
           std::find(one.projects.begin(), one.projects.end(), project) != one.projects.end();
  };
  // Of another project's entries a client learns nothing, not even that they are there.
  if (listed == policy_.named_mounts.end() || !allows(listed->second)) {
    return fail(Errc::kPolicy,
                "there is no mount '" + mount.name + "' in the administrator's list");
  }
  if (mount.mode == MountMode::kReadWrite && !listed->second.writable) {
    return fail(Errc::kPolicy, "mount '" + mount.name + "' is read-only");
  }
  return {};
}

// A host path, which only a private server's clients may name. What may be opened there is looked
// at when it is opened.
Result<> SandboxMaker::check_path(const wire::MountRequest& mount) const {
  if (!policy_.mounts_by_path) {
    return fail(
        Errc::kPolicy,
        "a server mounts entries of the administrator's list, never a path such as " + mount.name);
  }
  if (!policy_.allow_mounts) {
    return fail(Errc::kPolicy, "the launcher's policy does not allow mounts");
  }
  if (mount.mode == MountMode::kReadWrite && !policy_.allow_writable_mounts) {
    return fail(Errc::kPolicy, "the launcher's policy does not allow writable mounts");
  }
  return {};
}

// What all sandboxes of this launcher share, made when the first one is wanted.
Result<> SandboxMaker::prepare_users() {
  if (!agent_) {
    TRY(agent_, open_agent(config_.agent_path));
  }
  if (!config_.rootless && !slices_) {
    // Where other launchers have most of them already, fewer must do.
    constexpr std::uint32_t kLeast = 3;
    for (std::uint32_t count = config_.sandboxes_at_once + 2;;
         count = std::max(count / 2, kLeast)) {
      auto block =
          SliceBlock::lease(state_.base() + "/slices", policy_.uid_first, policy_.uid_last, count);
      if (block) {
        slices_.emplace(std::move(*block));
        break;
      }
      if (count <= kLeast) return fail(std::move(block.error()));
    }
  }
  return {};
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

Result<Limits> SandboxMaker::checked_limits(const Limits& asked) const {
  const Limits limits = within_ceilings(policy_, asked);
  TRY_OK(check_limits(policy_, limits));
  return limits;
}

Result<> SandboxMaker::prepare_template(const std::string& name) {
  return jails_.broods().prepare(name);
}

void SandboxMaker::shut_down() {
  jails_.shut_down();
  state_.remove();
}

void SandboxMaker::release(const Sandbox& sandbox) {
  if (sandbox.slice() && slices_) slices_->give_back(*sandbox.slice());
}

}  // namespace glovebox::launcher
