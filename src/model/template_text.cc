#include "model/template_text.h"

namespace glovebox {

std::string_view state_name(RuntimeState state) {
  switch (state) {
    case RuntimeState::kIdle:
      return "idle";
    case RuntimeState::kStarting:
      return "starting";
    case RuntimeState::kReady:
      return "ready";
    case RuntimeState::kFailed:
      return "failed";
    case RuntimeState::kRemoved:
      return "removed";
  }
  return "unknown";
}

std::string_view runtime_name(RuntimeKind runtime) {
  switch (runtime) {
    case RuntimeKind::kNone:
      return "none";
    case RuntimeKind::kPython:
      return "python";
    case RuntimeKind::kNode:
      return "node";
  }
  return "none";
}

}  // namespace glovebox
