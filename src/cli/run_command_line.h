// The options of `glovebox run` as typed, with their help.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/server_option.h"
#include "engine/catalog.h"
#include "options/command_line.h"
#include "wire/packages/package_options.h"

namespace glovebox::cli {

// As typed; parse_run_options() checks them and gives them types.
struct RunCommandLine {
  std::string file, lang, program, engine{engine::kDefaultEngine}, min_grade, timeout, cpu_time,
      memory, cpus, pids, disk, output_limit, workdir, template_name, image, pull, reuse;
  std::optional<std::string> code;
  std::vector<std::string> mounts, env, files_in, files_out, deny_imports, allow_imports, net,
      net_deny, args;
  wire::PackageOptions packages;
  ServerOption where;
  bool json = false, terminal = false;
  bool interactive = false;  // changes nothing: standard input is always passed on
};

// `typed` must outlive the parsing.
options::CommandLine run_command_line_of(RunCommandLine& typed);

}  // namespace glovebox::cli
