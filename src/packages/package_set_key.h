// Keys of package sets. A spec key identifies a request and its target; a layer id identifies the
// artefacts it resolved to. Equal requests in different spellings share a spec key, and specs that
// resolve to the same artefacts share a layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/dependencies.h"
#include "model/template.h"
#include "packages/builds/build_pipeline.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

// What packages are resolved for.
struct PackageSetTarget {
  PackageManager manager = PackageManager::kPip;
  std::string index;         // without credentials
  std::string architecture;  // "x86_64"
  std::string template_name;
  std::vector<std::string> template_layers;
  // Identifies the interpreter of the host: another one may get other artefacts.
  std::string interpreter_mark;
  // The text of a lock file. It determines more of the tree than its artefacts, so only requests
  // with the same lock share a layer.
  std::string lock{};
  // Python: whether interpreters with the layer also find the host's own packages.
  bool host_packages = false;
  // The only project that the layer is for; empty: equal requests of all projects share it.
  std::string project{};
};

// Whether the layer hides what the host's root has installed below /usr/local. Layers of a template
// have their modules in the same directory, so with them it does not.
bool has_own_site(const PackageSetTarget& target);

// The canonical form of one requirement: "Flask_Login [Async] >= 2, <3" is
// "flask-login[async]<3,>=2". Text that cannot be parsed stays as it is. Only for keys: the package
// client gets the caller's own text.
std::string canonical_package(PackageManager manager, std::string_view text);

// 64 hexadecimal digits.
std::string spec_key(const PackageSetTarget& target, const Dependencies& wanted);

// 32 hexadecimal digits (model/layer.h). `attempt` above zero: a second id while a
// corrupt layer cannot be removed yet.
std::string layer_id(const PackageSetTarget& target, const std::string& interpreter,
                     const std::vector<Artefact>& artefacts, unsigned attempt = 0);

// "own." and 20 of [a-z0-9]: the same for the same project and definition, its layers included.
std::string derived_template_id(const std::string& project, const TemplateDefinition& definition,
                                unsigned attempt = 0);

// The request as one readable line: "numpy, requests>=2", "requirements.txt (12 lines)".
std::string asked_text(const Dependencies& wanted);

}  // namespace glovebox::packages
