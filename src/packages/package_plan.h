// Which template a run or a sandbox is of when packages are asked for, by the request or by the
// template it names: what its sandboxes will be like, and what the book of sets has to prepare
// before there can be one. Waits for nothing and changes nothing.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/dependencies.h"
#include "model/template.h"
#include "node/runs/run_service.h"
#include "packages/package_service.h"
#include "templates/project_templates.h"

namespace glovebox::packages {

class ChosenTemplate {
 public:
  std::string own_id;          // of a project's own; else empty
  std::optional<PackageSetRequest> set;  // to be prepared first; its key is the caller's to fill in

  // Good until the caller awaits something.
  const Template& made_of() const { return composed_ ? *composed_ : *known_; }

 private:
  friend Result<ChosenTemplate> choose_template_with(const node::RunService&, const templates::ProjectTemplates*,
                                                     const std::string&, const std::string&,
                                                     const Dependencies&);
  const Template* known_ = nullptr;
  std::optional<Template> composed_;
};

// Errors as choose_template's; kInvalidArgument: its sandboxes have nothing that packages are for,
// or what is asked for does not go together with what the template has.
Result<ChosenTemplate> choose_template_with(const node::RunService& node, const templates::ProjectTemplates* book,
                                            const std::string& project, const std::string& name,
                                            const Dependencies& asked);

// Both together. kInvalidArgument: a lock names all packages, and there are others.
Result<Dependencies> joined_dependencies(const Dependencies& first, const Dependencies& second);
// Whether everything of `some` is in `all`.
bool has_dependencies(const Dependencies& all, const Dependencies& some);

}  // namespace glovebox::packages
