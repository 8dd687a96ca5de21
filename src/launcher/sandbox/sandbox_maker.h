// Makes sandboxes: checks the request against the policy, then has JailMaker make a jail, or makes
// a sandbox of the process engine itself. Fails closed: if something that was asked for cannot be
// set up, the sandbox does not start, and the error names the step.
//
// Owns the policy, the uid slices, the layers and the templates of the launcher. Used on its one
// thread; outlives every sandbox.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/jail_maker.h"
#include "launcher/layers/layer_store.h"
#include "launcher/policy/policy.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/sandbox/slices.h"
#include "launcher/state_dir.h"
#include "launcher/templates/template_definitions.h"
#include "launcher/templates/template_file.h"
#include "sys/cgroup_parents.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

struct MakerConfig {
  std::string agent_path;
  std::string layers_dir;
  std::string templates_dir;
  bool rootless = false;
  Expected sandboxes = Expected::kMany;
  ZygoteBounds zygotes;
  std::function<SandboxShares()> read_shares;  // called once
};

class SandboxMaker {
 public:
  SandboxMaker(MakerConfig config, Policy policy, sys::CgroupRoots roots, StateDir state,
               sys::CgroupParents parents);
  SandboxMaker(const SandboxMaker&) = delete;
  SandboxMaker& operator=(const SandboxMaker&) = delete;

  // Returns a sandbox of the process engine; a jail is only begun and comes from
  // jails().take_made() under its ticket. Only `client` may keep a layer that it makes.
  Result<std::optional<Sandbox>> make(const wire::CreateSandbox& asked, std::vector<UniqueFd> fds,
                                      const Caller& caller, const Client* client,
                                      std::uint64_t ticket);
  // The limits for a sandbox that is taken: defaults are lowered to the policy's ceilings, and what
  // was asked for beyond them is refused.
  Result<Limits> checked_limits(const Limits& asked) const;
  // After a sandbox has ended: its slice is free for any launcher.
  void release(const Sandbox& sandbox);
  JailMaker& jails() { return jails_; }
  // What is above all sandboxes.
  sys::CgroupParents& parents() { return parents_; }
  // Almost all of their memory is in use: none is made until this is set to false.
  void set_memory_short(bool is_short) { memory_is_short_ = is_short; }
  LayerStore& layer_store() { return layer_store_; }
  Result<> prepare_template(const std::string& name);
  void reload_templates();
  // Reads those that are not known yet, if only one is expected to be needed.
  void know_all_templates();
  // Templates that a server defines.
  Result<> define_template(const TemplateDefinition& definition, const Client* owner);
  Result<> forget_template(const std::string& id, const Client* owner);
  // Whether this client may have sandboxes made from the template.
  bool may_use(const std::string& template_name, const Client* client) const;
  const TemplateDefinitions& definitions() const { return definitions_; }
  void client_gone(const Client* client);
  // Removes templates whose servers have gone; `in_use`: the names of templates with sandboxes.
  void tidy_templates(const std::set<std::string>& in_use);
  // The host's packages were upgraded: nothing that was made from the old files is used any more.
  void host_files_changed();
  // Removes everything that would outlive the process. No sandbox can be made after this.
  void shut_down();

 private:
  std::vector<Template> usable(std::vector<TemplateFile> files) const;
  void know_template(const std::string& name);
  Result<> prepare_users();
  Result<> check_room() const;
  Result<> check(const wire::CreateSandbox& request, std::size_t fds, const Caller& caller) const;
  Result<> check_named_mount(const wire::MountRequest& mount, const std::string& project) const;
  Result<> check_layer(const wire::CreateSandbox& request, const Caller& caller) const;
  Result<> hold_layers(JailRequest& jail_request, const Client* client);
  Result<> check_mount_by_path(const wire::MountRequest& mount) const;
  Result<Sandbox> make_process(const wire::CreateSandbox& request, std::vector<UniqueFd> fds,
                               SandboxId id, sys::Cgroup cgroup);

  MakerConfig config_;
  Policy policy_;
  sys::CgroupRoots roots_;
  StateDir state_;
  // Can be removed only after all sandboxes, nurseries and zygotes.
  sys::CgroupParents parents_;
  bool memory_is_short_ = false;
  UniqueFd agent_;
  std::optional<UidSlices> slices_;
  // Declared before everything that holds layers.
  LayerStore layer_store_;
  std::vector<Template> administrator_templates_;  // as they were read last
  bool knows_all_templates_ = false;
  TemplateDefinitions definitions_;
  JailMaker jails_;
};

}  // namespace glovebox::launcher
