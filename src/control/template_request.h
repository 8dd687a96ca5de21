// The body of POST /v1/templates: what a caller wants, checked and bounded. Whether there is such a
// base, and how many a project may have, is the book's.
#pragma once

#include <string_view>

#include "base/result.h"
#include "store/template_record.h"

namespace glovebox::control {

// {name, from, description?, env?, preload?, profile?}. The definition has no id yet.
Result<store::TemplateRecord> parse_template_request(std::string_view body);

}  // namespace glovebox::control
