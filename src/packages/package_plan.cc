#include "packages/package_plan.h"

#include <algorithm>

#include "model/environment.h"
#include "model/template_rules.h"

namespace glovebox::packages {
namespace {

// The template that the launcher will derive from its base.
Template composed(const Template& base, const TemplateDefinition& definition) {
  Template made = base;
  made.name = definition.id;
  made.built_in = false;
  made.preload.insert(made.preload.end(), definition.preload.begin(), definition.preload.end());
  made.env = joined_environment(std::move(made.env), definition.env);
  const Limits& wanted = definition.limits;
  const auto take = [&](LimitKind kind, auto Limits::*of) {
    if (wanted.was_asked_for(kind)) made.limits.*of = wanted.*of;
  };
  take(LimitKind::kWall, &Limits::wall);
  take(LimitKind::kCpuTime, &Limits::cpu_time);
  take(LimitKind::kMemory, &Limits::memory_bytes);
  take(LimitKind::kDisk, &Limits::disk_bytes);
  take(LimitKind::kPids, &Limits::pids);
  take(LimitKind::kCpus, &Limits::cpu_thousandths);
  return made;
}

Result<> check_fits(const Template& made_of, const std::string& name, const Dependencies& wanted) {
  if (made_of.runtime == RuntimeKind::kNone) {
    return fail(Errc::kInvalidArgument,
                "profile.dependencies: template \"" + name +
                    "\" has neither Python nor Node; set language or choose another template "
                    "to use packages");
  }
  if (made_of.runtime == RuntimeKind::kNode && !wanted.requirements.empty()) {
    return fail(Errc::kInvalidArgument,
                "profile.dependencies.requirements: only for Python; template \"" + name +
                    "\" supports packages, or a package-lock.json as lock");
  }
  if (made_of.runtime == RuntimeKind::kNode && wanted.host_packages) {
    return fail(
        Errc::kInvalidArgument,
        "profile.dependencies.host_packages: only for Python, not for template \"" + name + "\"");
  }
  return {};
}

std::vector<std::string> joined_once(std::vector<std::string> list,
                                     const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(one);
  }
  return list;
}

}  // namespace

Result<Dependencies> joined_dependencies(const Dependencies& first, const Dependencies& second) {
  if (has_dependencies(first, second)) return first;
  if (has_dependencies(second, first)) return second;
  const bool has_others = !first.empty() && !second.empty();
  if (has_others && first.lock != second.lock) {
    return fail(Errc::kInvalidArgument,
                "profile.dependencies: a lock names all packages; other dependencies cannot be "
                "combined with it");
  }
  Dependencies both = first;
  both.packages = joined_once(std::move(both.packages), second.packages);
  std::sort(both.packages.begin(), both.packages.end());
  if (!second.requirements.empty() && second.requirements != first.requirements) {
    if (!both.requirements.empty()) both.requirements += '\n';
    both.requirements += second.requirements;
  }
  both.preload = joined_once(std::move(both.preload), second.preload);
  if (second.host_packages) both.host_packages = second.host_packages;
  if (both.packages.size() > kMaxDependencies || both.requirements.size() > kMaxRequirementsBytes) {
    return fail(Errc::kInvalidArgument,
                "profile.dependencies: too many together with those of the template");
  }
  return both;
}

bool has_dependencies(const Dependencies& all, const Dependencies& some) {
  const auto has_each = [](const std::vector<std::string>& list,
                           const std::vector<std::string>& wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
      return std::find(list.begin(), list.end(), one) != list.end();
    });
  };
  return has_each(all.packages, some.packages) && has_each(all.preload, some.preload) &&
         (some.requirements.empty() || some.requirements == all.requirements) &&
         (some.lock.empty() || some.lock == all.lock) &&
         (!some.host_packages || some.host_packages == all.host_packages);
}

Result<ChosenTemplate> choose_image(const node::RunService& node, const std::string& project,
                                    const ProfileRequest& profile, const ImageOrigin& origin) {
  if (!profile.image_use) {
    return fail(Errc::kInvalidArgument, "profile.image: cannot be used here");
  }
  if (!profile.dependencies.empty()) {
    return fail(Errc::kInvalidArgument,
                "profile.dependencies: cannot be combined with an image yet");
  }
  const ImageUse& image = *profile.image_use;
  const std::string from = origin.own != nullptr ? origin.own->definition.from : origin.from;
  TRY(const TemplateStatus* base, templates::choose_template(node, nullptr, project, from));
  ChosenTemplate chosen;
  PackageSetRequest request;
  request.project = project;
  std::vector<std::string> env =
      joined_environment(base->description.env, image_environment(image));
  if (origin.own != nullptr) {
    chosen.own_id = origin.own->definition.id;
    request.definition = image_definition(origin.own->definition, image);
    chosen.composed_ = composed(base->description, origin.own->definition);
    env = joined_environment(std::move(env), origin.own->definition.env);
  } else {
    request.definition.from = from;
    request.definition = image_definition(std::move(request.definition), image);
    chosen.composed_ = base->description;
    chosen.composed_->built_in = false;
    chosen.composed_->language.clear();
  }
  chosen.composed_->env = std::move(env);
  chosen.set = std::move(request);
  return chosen;
}

TemplateDefinition image_definition(TemplateDefinition definition, const ImageUse& image) {
  definition.image = image.layer;
  const std::string path = variable_in(image.config.env, "PATH");
  const std::string variable = "PATH=" + path;
  const bool has_own = !variable_in(definition.env, "PATH").empty();
  const bool fits =
      variable.size() <= kMaxTemplateVariable && definition.env.size() < kMaxTemplateEnv;
  if (!path.empty() && !has_own && fits) definition.env.push_back(variable);
  return definition;
}

Result<ChosenTemplate> choose_template_with(const node::RunService& node,
                                            const templates::ProjectTemplates* own_templates,
                                            const std::string& project, const std::string& name,
                                            const Dependencies& asked) {
  ChosenTemplate chosen;
  const store::TemplateRecord* own =
      own_templates != nullptr ? own_templates->find(project, name) : nullptr;
  if (own != nullptr && !own->definition.image.empty()) {
    return fail(Errc::kInvalidArgument,
                "template: \"" + name + "\" is made of an image and cannot be used here");
  }
  if (own != nullptr) chosen.own_id = own->definition.id;
  const bool is_whole = own == nullptr || own->snapshot.empty();
  const bool has_set =
      is_whole && (!asked.empty() || (own != nullptr && !own->dependencies.empty()));
  if (!has_set) {
    TRY(const TemplateStatus* status,
        templates::choose_template(node, own_templates, project, name));
    chosen.known_ = &status->description;
    return chosen;
  }
  // The administrator's base, whether or not the launcher has the project's template already.
  const std::string from = own != nullptr ? own->definition.from : name;
  TRY(const TemplateStatus* base, templates::choose_template(node, nullptr, project, from));
  PackageSetRequest request;
  request.project = project;
  if (own != nullptr) {
    request.definition = own->definition;
    TRY(request.dependencies, joined_dependencies(own->dependencies, asked));
    chosen.composed_ = composed(base->description, own->definition);
    // A set that differs from the template's needs a template of its own.
    if (request.dependencies == own->dependencies) {
      request.kept_layer = own->layer;
    } else {
      request.definition.id.clear();
    }
  } else {
    request.definition.from = from;
    request.dependencies = asked;
    chosen.known_ = &base->description;
  }
  TRY_OK(check_fits(base->description, name, request.dependencies));
  chosen.set = std::move(request);
  return chosen;
}

}  // namespace glovebox::packages
