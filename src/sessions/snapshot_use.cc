#include "sessions/snapshot_use.h"

#include "templates/project_templates.h"

namespace glovebox::sessions {

Result<> check_unused(const routing::App& app, const std::string& project, const std::string& snapshot) {
  const store::TemplateRecord* made =
      app.templates != nullptr ? app.templates->of_snapshot(snapshot) : nullptr;
  if (made == nullptr || (project != "*" && made->project != project)) return {};
  return fail(Errc::kConflict, "the template \"" + made->name +
                                   "\" stands for this snapshot: remove the template first");
}

}  // namespace glovebox::sessions
