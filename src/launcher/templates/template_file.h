// Templates as TOML: the built-in ones, which are compiled in, and the administrator's, which lie
// in a directory of root's. One file each, named after its template: data-science.toml.
//
//   description = "..."                  one line
//   runtime = "none" | "python" | "node"
//   language = "python"                  what a request's `language` says; default by runtime
//   layers = ["/srv/layers/r"]           directories above the host's own, bottom first
//   preload = ["numpy", "matplotlib.pyplot"]    with runtime = "python" only
//   [env]      NAME = "value"
//   [profile]  timeout, cpu_time = "30s"   memory, disk = "512M"   pids = 128   cpus = 1.5
//   [pool]     min = 0   max = 4
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/template.h"

namespace glovebox::launcher {

// Sandboxes that may wait for a template whose file does not say.
inline constexpr std::uint32_t kDefaultPoolMax = 4;

// One file's text. Errors read "<file>:<line>: what", and name the key.
Result<Template> parse_template(const std::string& text, const std::string& name,
                                const std::string& file);

struct TemplateFile {
  std::string name;
  std::string file;  // "built in", or its path
  Result<Template> content;
};

// Compiled in; sorted by name.
std::vector<Template> built_in_templates();

// All templates, sorted by name. A file of the administrator's takes the place of a built-in
// template of the same name, also when it is bad: a mistyped restriction must not fall back to
// something looser. A bad file spoils nothing but its own template. A missing directory means: the
// built-in ones. A directory or file that is not root's, or that others may write, is bad.
std::vector<TemplateFile> load_templates(const std::string& directory);

}  // namespace glovebox::launcher
