// Makes sandboxes: checks the request against the policy, then has a jail made, or makes a sandbox
// of the process engine itself. Fails closed: what was asked for and cannot be set up stops the
// start, with the step's name.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/templates/template_definitions.h"
#include "launcher/jail/jail_maker.h"
#include "launcher/layers/layer_store.h"
#include "launcher/policy/policy.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/sandbox/slices.h"
#include "launcher/state_dir.h"
#include "wire/launcher_messages.h"

namespace glovebox::launcher {

struct MakerConfig {
  std::string agent_path;
  std::string layers_dir;
  std::string templates_dir;
  std::uint32_t sandboxes_at_once = 1;
  bool rootless = false;
  ZygoteBounds zygotes;
};

class SandboxMaker {
 public:
  SandboxMaker(MakerConfig config, Policy policy, sys::CgroupRoots roots, StateDir state);
  SandboxMaker(const SandboxMaker&) = delete;
  SandboxMaker& operator=(const SandboxMaker&) = delete;

  // A sandbox of the process engine, at once; a jail is begun, and comes from jails() under its
  // ticket. A layer that it makes is `client`'s to keep.
  Result<std::optional<Sandbox>> make(const wire::CreateSandbox& asked, std::vector<UniqueFd> fds,
                                      const Caller& caller, const Client* client,
                                      std::uint64_t ticket, bool hurry);
  // What nobody asked for, and what is past a ceiling, of a sandbox that is taken.
  Result<Limits> checked_limits(const Limits& asked) const;
  // After a sandbox has ended: its slice may be used again, last of all.
  void release(const Sandbox& sandbox);
  JailMaker& jails() { return jails_; }
  LayerShelf& shelf() { return shelf_; }
  Result<> prepare_template(const std::string& name);
  void load_templates_again();
  // A server's own ones.
  Result<> define_template(const TemplateDefinition& definition, const Client* owner);
  Result<> forget_template(const std::string& id, const Client* owner);
  // Whether this client may have sandboxes of it made.
  bool may_use(const std::string& template_name, const Client* client) const;
  const Definitions& definitions() const { return definitions_; }
  void client_gone(const Client* client);
  // What is left of templates that nobody has any more; there are sandboxes of `in_use`.
  void tidy_templates(const std::set<std::string>& in_use);
  // The host's packages were upgraded: what was made of them before is used no more.
  void host_files_changed();
  // Removes everything that outlives a process. Nothing can be made after this.
  void shut_down();

 private:
  Result<> prepare_users();
  Result<> check(const wire::CreateSandbox& request, std::size_t fds, const Caller& caller) const;
  Result<> check_named(const wire::MountRequest& mount, const std::string& project) const;
  Result<> check_layer(const wire::CreateSandbox& request, const Caller& caller) const;
  Result<> hold_layers(JailWish& wish, const Client* client);
  Result<> check_path(const wire::MountRequest& mount) const;
  Result<Sandbox> make_process(const wire::CreateSandbox& request, std::vector<UniqueFd> fds,
                               SandboxId id, sys::Cgroup cgroup);

  MakerConfig config_;
  Policy policy_;
  sys::CgroupRoots roots_;
  StateDir state_;
  UniqueFd agent_;
  std::optional<SliceBlock> slices_;
  // Before whatever holds layers.
  LayerShelf shelf_;
  std::vector<Template> files_;  // the administrator's, as they were read last
  Definitions definitions_;
  JailMaker jails_;
};

}  // namespace glovebox::launcher
