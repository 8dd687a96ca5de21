// Names of sets of packages. A spec key is of what was asked for, where and of whom; a layer id is
// of what that came to. Equal wishes in other spellings have one spec key, and specs that come to
// the same artefacts have one layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packages/builds/build_pipeline.h"
#include "packages/builds/build_progress.h"
#include "model/dependencies.h"
#include "model/template.h"

namespace glovebox::packages {

// What packages are resolved for, besides themselves.
struct PackageSetTarget {
  PackageManager manager = PackageManager::kPip;
  std::string index;         // as it may be shown
  std::string architecture;  // "x86_64"
  std::string template_name;
  std::vector<std::string> template_layers;
  // Whatever changes with the interpreter that the host has: another one may get other artefacts.
  std::string interpreter_mark;
  // The text of a lock file, which says more of the tree than its artefacts: only those who have
  // the same one share a layer of it.
  std::string lock{};
};

// One package's words in the form that equal ones share: "Flask_Login [Async] >= 2, <3" is
// "flask-login[async]<3,>=2". What is not understood stays as it is. Only for keys: the package
// client is given the caller's own words.
std::string canonical_package(PackageManager manager, std::string_view text);

// 64 hexadecimal digits.
std::string spec_key(const PackageSetTarget& place, const Dependencies& wanted);

// 32 hexadecimal digits (model/layer.h). `attempt` above zero: beside one that is not good any
// more and cannot be removed yet.
std::string layer_id(const PackageSetTarget& place, const std::string& interpreter,
                     const std::vector<Artefact>& artefacts, unsigned attempt = 0);

// "own." and 20 of [a-z0-9]: the same for the same project and definition, its layers included.
std::string derived_template_id(const std::string& project, const TemplateDefinition& definition,
                                unsigned attempt = 0);

// What was asked for, for people: "numpy, requests>=2", "requirements.txt (12 lines)"; one line.
std::string asked_text(const Dependencies& wanted);

}  // namespace glovebox::packages
