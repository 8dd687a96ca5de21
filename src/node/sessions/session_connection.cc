#include "node/sessions/session_connection.h"

namespace glovebox::node {

bool SessionConnection::end(Error reason) {
  if (end_reason_) return false;
  end_reason_ = std::move(reason);
  return true;
}

Error SessionConnection::over_error() const {
  return end_reason_.value_or(Error(Errc::kUnavailable, "the sandbox has ended"));
}

Result<> SessionConnection::check_usable() const {
  if (is_over()) return fail(over_error());
  if (!ready_) return fail(Errc::kConflict, "the sandbox is paused");
  if (!has_room()) return fail(Errc::kResourceExhausted, "the sandbox does not keep up");
  return {};
}

}  // namespace glovebox::node
