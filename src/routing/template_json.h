// Templates as clients see them: the administrator's, and a project's own.
#pragma once

#include <boost/json/fwd.hpp>

#include "model/template.h"
#include "store/template_record.h"
#include "templates/project_templates.h"

namespace glovebox::routing {

boost::json::object template_json(const TemplateStatus& status);
boost::json::object project_template_json(const templates::ProjectTemplates& templates,
                                          const store::TemplateRecord& made);

}  // namespace glovebox::routing
