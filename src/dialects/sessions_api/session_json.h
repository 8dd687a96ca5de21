// Sessions and containers of /api/v1 as clients see them: both are our sandboxes.
#pragma once

#include <boost/json/fwd.hpp>

#include "routing/app.h"
#include "dialects/sessions_api/executions.h"
#include "store/session_record.h"

namespace glovebox::sessions_api {

Executions& executions_of(routing::App& app);

boost::json::object session_json(const store::SessionRecord& record);
boost::json::object container_json(const store::SessionRecord& record);

}  // namespace glovebox::sessions_api
