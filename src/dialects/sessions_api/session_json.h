// Sessions and containers of /api/v1 as clients see them: both are sandboxes of /v1.
#pragma once

#include <boost/json/fwd.hpp>

#include "store/session_record.h"

namespace glovebox::sessions_api {

boost::json::object session_json(const store::SessionRecord& record);
boost::json::object container_json(const store::SessionRecord& record);

}  // namespace glovebox::sessions_api
