// The options of `glovebox run` as they are typed, and what --help says of each.
#pragma once

#include <string>
#include <vector>

#include "engine/catalog.h"
#include "wire/dependency_words.h"

namespace CLI {
class App;
}

namespace glovebox::cli {

// As typed; parse_run_options gives them meaning.
struct RunWords {
  std::string file, code, lang, program, engine{engine::kDefaultEngine}, min_grade, timeout,
      cpu_time, memory, cpus, pids, disk, output_limit, workdir, url, template_name;
  std::vector<std::string> mounts, env, files_in, files_out, deny_imports, allow_imports, net,
      net_deny, args;
  wire::DependencyWords packages;
  bool json = false, terminal = false, has_code = false, server = false, local = false;
};

// `words` outlives the parsing.
void describe_run(CLI::App& app, RunWords& words);

}  // namespace glovebox::cli
