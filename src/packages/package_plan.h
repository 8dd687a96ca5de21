// Chooses the template of a run or sandbox with packages, which the request or its template may
// name: what its sandboxes will be like, and which package set must be prepared first. Neither
// blocks nor changes anything.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/dependencies.h"
#include "model/profile.h"
#include "model/template.h"
#include "node/runs/run_service.h"
#include "packages/package_service.h"
#include "templates/project_templates.h"

namespace glovebox::packages {

// Where the image of a request comes from.
struct ImageOrigin {
  const store::TemplateRecord* own = nullptr;  // a template of the project that is made of it
  std::string from = "base";                   // without one: the template whose runtime it has
};

class ChosenTemplate {
 public:
  std::string own_id;                    // of a project's own template; else empty
  std::optional<PackageSetRequest> set;  // to be prepared first; the caller fills in its key

  // Valid until the caller awaits something.
  const Template& made_of() const { return composed_ ? *composed_ : *known_; }

 private:
  friend Result<ChosenTemplate> choose_image(const node::RunService&, const std::string&,
                                             const ProfileRequest&, const ImageOrigin&);
  friend Result<ChosenTemplate> choose_template_with(const node::RunService&,
                                                     const templates::ProjectTemplates*,
                                                     const std::string&, const std::string&,
                                                     const Dependencies&);
  const Template* known_ = nullptr;
  std::optional<Template> composed_;
};

// Errors as choose_template's; kInvalidArgument: its sandboxes have neither Python nor Node, or the
// dependencies cannot be combined with those of the template.
Result<ChosenTemplate> choose_template_with(const node::RunService& node,
                                            const templates::ProjectTemplates* own_templates,
                                            const std::string& project, const std::string& name,
                                            const Dependencies& asked);

// The template of a run or sandbox whose profile or template names an image. kInvalidArgument: its
// name was not resolved, because this kind of request may not name one.
Result<ChosenTemplate> choose_image(const node::RunService& node, const std::string& project,
                                    const ProfileRequest& profile, const ImageOrigin& origin = {});
// A template's definition as the launcher is told it: with the image's tree, and its PATH, on which
// the interpreter is searched. Templates may not set what the dynamic linker reads.
TemplateDefinition image_definition(TemplateDefinition definition, const ImageUse& image);

// The union. kInvalidArgument: one has a lock, and the other adds packages.
Result<Dependencies> joined_dependencies(const Dependencies& first, const Dependencies& second);
// Whether `all` contains everything of `some`.
bool has_dependencies(const Dependencies& all, const Dependencies& some);

}  // namespace glovebox::packages
