#include "launcher/templates/template_definitions.h"

#include <algorithm>

#include "base/log.h"
#include "model/template_rules.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {
namespace {

// Waiting sandboxes of a template that a client defines; its server may set fewer.
constexpr std::uint32_t kMaxDerivedPool = 16;

void set_variable(std::vector<std::string>& env, const std::string& variable) {
  const std::string name = variable.substr(0, variable.find('=') + 1);
  std::erase_if(env, [&](const std::string& old) { return old.rfind(name, 0) == 0; });
  env.push_back(variable);
}

Limits override_limits(Limits limits, const Limits& wanted) {
  if (wanted.was_asked_for(LimitKind::kWall)) limits.wall = wanted.wall;
  if (wanted.was_asked_for(LimitKind::kCpuTime)) limits.cpu_time = wanted.cpu_time;
  if (wanted.was_asked_for(LimitKind::kMemory)) limits.memory_bytes = wanted.memory_bytes;
  if (wanted.was_asked_for(LimitKind::kDisk)) limits.disk_bytes = wanted.disk_bytes;
  if (wanted.was_asked_for(LimitKind::kPids)) limits.pids = wanted.pids;
  if (wanted.was_asked_for(LimitKind::kCpus)) limits.cpu_thousandths = wanted.cpu_thousandths;
  return limits;
}

// The runtime of its base is then the image's own interpreter.
Result<> check_image(const TemplateDefinition& definition) {
  if (!definition.layers.empty()) {
    return fail(Errc::kInvalidArgument, "image: cannot be combined with layers");
  }
  return {};
}

// Whether its status fits into a message, even with a long error of its preload: a server could not
// read a longer one and would lose its connection.
bool fits_in_a_message(const Template& made) {
  TemplateStatus status;
  status.description = made;
  status.error.assign(8192, 'x');
  const auto bytes = wire::encode(wire::LauncherReply(wire::TemplateChanged{std::move(status)}));
  return bytes.size() <= wire::kMaxLauncherMessage && wire::decode_launcher_reply(bytes);
}

}  // namespace

Result<Template> derive_template(const TemplateDefinition& definition,
                                 const std::vector<Template>& files, const Policy& policy,
                                 const std::vector<LayerRef>& layers) {
  TRY_OK(check_definition(definition));
  const auto base = std::find_if(files.begin(), files.end(),
                                 [&](const Template& one) { return one.name == definition.from; });
  if (base == files.end()) {
    return fail(Errc::kNotFound, "from: there is no template \"" + definition.from + "\"");
  }
  if (!definition.preload.empty() && base->runtime != RuntimeKind::kPython) {
    return fail(Errc::kInvalidArgument,
                "preload: template \"" + definition.from + "\" has no Python runtime");
  }
  Template made = *base;
  made.name = definition.id;
  made.description.clear();
  made.built_in = false;
  made.pool_min = 0;  // only the administrator may keep sandboxes ready without requests
  made.pool_max = std::min(made.pool_max, kMaxDerivedPool);
  made.session_pool = {};
  for (const std::string& module : definition.preload) {
    const bool is_there =
        std::find(made.preload.begin(), made.preload.end(), module) != made.preload.end();
    if (!is_there) made.preload.push_back(module);
  }
  if (made.preload.size() > kMaxPreload) {
    return fail(Errc::kInvalidArgument, "preload: at most " + std::to_string(kMaxPreload) +
                                            " modules, including those of template \"" +
                                            definition.from + "\"");
  }
  if (!definition.image.empty()) {
    TRY_OK(check_image(definition));
    made.root = layers.back()->tree;
    made.layers.clear();
  } else {
    for (const LayerRef& layer : layers) made.layers.push_back(layer->tree);
  }
  for (const std::string& variable : definition.env) set_variable(made.env, variable);
  if (made.env.size() > kMaxTemplateEnv) {
    return fail(Errc::kInvalidArgument, "env: at most " + std::to_string(kMaxTemplateEnv) +
                                            " variables, including those of template \"" +
                                            definition.from + "\"");
  }
  made.limits = override_limits(base->limits, definition.limits);
  if (auto checked = check_limits(policy, made.limits); !checked) {
    return fail(std::move(checked.error()).context("profile"));
  }
  if (!fits_in_a_message(made)) {
    return fail(Errc::kInvalidArgument,
                "the template is too large together with its base \"" + definition.from + "\"");
  }
  return made;
}

Result<std::vector<LayerRef>> TemplateDefinitions::hold_layers(
    const TemplateDefinition& wanted) const {
  std::vector<LayerRef> layers;
  if (wanted.layers.size() > kMaxTemplateLayers) {
    return fail(Errc::kInvalidArgument,
                "layers: at most " + std::to_string(kMaxTemplateLayers) + " layers");
  }
  for (const std::string& id : wanted.layers) {
    if (!is_layer_id(id) || std::count(wanted.layers.begin(), wanted.layers.end(), id) > 1) {
      return fail(Errc::kInvalidArgument,
                  "layers: '" + id + "' is not a layer id, or is named twice");
    }
    if (!find_layer_) return fail(Errc::kUnsupported, "layers: this launcher has no layer store");
    TRY(LayerRef layer, find_layer_(id));
    layers.push_back(std::move(layer));
  }
  if (!wanted.image.empty()) {
    if (!is_layer_id(wanted.image)) {
      return fail(Errc::kInvalidArgument, "image: '" + wanted.image + "' is not a layer id");
    }
    if (!find_layer_) return fail(Errc::kUnsupported, "image: this launcher has no layer store");
    TRY(LayerRef image, find_layer_(wanted.image));
    layers.push_back(std::move(image));
  }
  return layers;
}

Result<Template> TemplateDefinitions::define(const TemplateDefinition& wanted, const Client* owner,
                                             const std::vector<Template>& files,
                                             const Policy& policy) {
  if (!policy.templates_of_projects) {
    return fail(Errc::kPolicy,
                "the administrator does not allow templates of projects (templates.of_projects in "
                "/etc/glovebox/policy.toml)");
  }
  TRY(std::vector<LayerRef> layers, hold_layers(wanted));
  TRY(Template made, derive_template(wanted, files, policy, layers));
  const auto known = all_.find(wanted.id);
  if (known != all_.end() && known->second.owner != nullptr && known->second.owner != owner) {
    return fail(Errc::kConflict, "template " + wanted.id + " belongs to another server");
  }
  if (known == all_.end() && all_.size() >= kMaxDefinitions) {
    return fail(Errc::kResourceExhausted, "servers have defined " +
                                              std::to_string(kMaxDefinitions) +
                                              " templates on this host, which is the limit");
  }
  all_[wanted.id] = Defined{wanted, owner, {}, std::move(layers)};
  return made;
}

Result<> TemplateDefinitions::forget(const std::string& id, const Client* owner) {
  if (!belongs_to(id, owner)) return fail(Errc::kNotFound, "this client has no template " + id);
  all_.erase(id);
  return {};
}

bool TemplateDefinitions::belongs_to(const std::string& id, const Client* owner) const {
  const auto known = all_.find(id);
  return known != all_.end() && known->second.owner == owner;
}

void TemplateDefinitions::owner_gone(const Client* owner, Clock::time_point now) {
  for (auto& [id, defined] : all_) {
    if (defined.owner != owner) continue;
    defined.owner = nullptr;
    defined.expires_at = now + kOrphanLife;
  }
}

std::vector<std::string> TemplateDefinitions::remove_orphans(Clock::time_point now) {
  std::vector<std::string> dropped;
  std::erase_if(all_, [&](const auto& entry) {
    const bool is_finished = entry.second.owner == nullptr && now >= entry.second.expires_at;
    if (is_finished) dropped.push_back(entry.first);
    return is_finished;
  });
  return dropped;
}

std::vector<Template> TemplateDefinitions::derive(const std::vector<Template>& files,
                                                  const Policy& policy) const {
  std::vector<Template> made;
  for (const auto& [id, defined] : all_) {
    if (auto one = derive_template(defined.definition, files, policy, defined.layers)) {
      made.push_back(std::move(*one));
    } else {
      log::warn("a template that a server defined is ignored",
                {{"template", id}, {"error", one.error().message()}});
    }
  }
  return made;
}

}  // namespace glovebox::launcher
