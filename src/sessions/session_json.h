// Sandboxes and snapshots as clients see them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "store/session_record.h"

namespace glovebox::sessions {

// Without the token of its ports: only the answer to the creation contains that.
boost::json::object sandbox_json(const store::SessionRecord& session);
boost::json::object snapshot_json(const store::SnapshotRecord& snapshot);
// The data of a `sandbox.*` event.
std::string session_event(const store::SessionRecord& session);

}  // namespace glovebox::sessions
