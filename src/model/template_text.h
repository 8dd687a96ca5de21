// How answers and figures name the states of templates.
#pragma once

#include <string_view>

#include "model/template.h"

namespace glovebox {

std::string_view state_name(RuntimeState state);
std::string_view runtime_name(RuntimeKind runtime);

}  // namespace glovebox
