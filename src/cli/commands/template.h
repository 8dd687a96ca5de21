// `glovebox template`: `check FILE` is done here; `list` and `show` ask a server.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "model/template.h"

namespace glovebox::cli {

int template_command(std::span<const std::string> args);

// The launcher's own reader, which this layer does not see; main() hands it in.
using ParseTemplate = Result<Template> (*)(const std::string& text, const std::string& name,
                                           const std::string& file);
void check_templates_with(ParseTemplate parse);

}  // namespace glovebox::cli
