// `glovebox template`: `check FILE` is done here; glovebox-client does the other subcommands.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "model/template.h"

namespace glovebox::cli {

int template_command(std::span<const std::string> args);

// Sets the launcher's parser, which this layer cannot include. main() calls it.
using ParseTemplate = Result<Template> (*)(const std::string& text, const std::string& name,
                                           const std::string& file);
void set_template_parser(ParseTemplate parse);

}  // namespace glovebox::cli
