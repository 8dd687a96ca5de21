// Templates as TOML: the built-in ones, which are compiled in, and the administrator's, which are
// in a root-owned directory. One file each, named after its template: data-science.toml.
//
//   description = "..."                  one line
//   runtime = "none" | "python" | "node"
//   language = "python"                  the `language` of requests; default by runtime
//   layers = ["/srv/layers/r"]           directories above the host's own, bottom first
//   preload = ["numpy", "matplotlib.pyplot"]    with runtime = "python" only
//   host_packages = true                        likewise: package sets see the host's packages
//   [env]      NAME = "value"
//   [profile]  timeout, cpu_time = "30s"   memory, disk = "512M"   pids = 128   cpus = 1.5
//   [pool]     min = 0   max = 4
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/template.h"

namespace glovebox::launcher {

// The pool of a template whose file does not set one.
inline constexpr std::uint32_t kDefaultPoolMax = 4;

// Parses one file's text. Errors read "<file>:<line>: what", and name the key.
Result<Template> parse_template(const std::string& text, const std::string& name,
                                const std::string& file);

struct TemplateFile {
  std::string name;
  std::string file;  // "built in", or its path
  Result<Template> content;
};

// Compiled in; sorted by name.
std::vector<Template> built_in_templates();

// All templates, sorted by name. An administrator's file replaces the built-in template of the same
// name, even if it is invalid: a mistyped restriction must not fall back to something looser. An
// invalid file affects only its own template. Without the directory there are the built-in ones. A
// directory or file that root does not own, or that others can write, is invalid.
std::vector<TemplateFile> load_templates(const std::string& directory);

// The one of this name, as it would be among all; empty if there is none. Parsing all of them takes
// as long as starting a program.
std::vector<TemplateFile> load_template(const std::string& directory, const std::string& name);

}  // namespace glovebox::launcher
