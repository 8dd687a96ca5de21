// A process and its output as clients see them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string_view>

#include "node/sessions/session_service.h"

namespace glovebox::sessions {

// {"data": ...}, or {"data_base64": ...} for bytes that are not UTF-8.
void add_data(boost::json::object& object, std::string_view bytes);

// 128 + n for a signal.
int exit_code_of(const wire::ProcessEnd& end);
boost::json::object process_json(const node::ProcessInfo& process);

}  // namespace glovebox::sessions
