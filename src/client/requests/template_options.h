// `glovebox template create`: its words as the body of POST /v1/templates.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::client {

struct NewTemplateWords {
  std::string from;
  std::string snapshot;  // instead of it and of all that follows the description
  std::string description;
  std::vector<std::string> preload;  // "a,b"
  std::vector<std::string> env;      // "NAME=VALUE"
  std::string timeout;
  std::string memory;
  std::string disk;
  std::string pids;
  std::string cpus;
  std::vector<std::string> with;
  std::string requirements;
  std::string lock;
  bool names_packages() const { return !with.empty() || !requirements.empty() || !lock.empty(); }
  bool is_given() const {
    return changes_something() || !from.empty() || !snapshot.empty() || !description.empty();
  }
  bool changes_something() const {
    return names_packages() || !preload.empty() || !env.empty() || !timeout.empty() ||
           !memory.empty() || !disk.empty() || !pids.empty() || !cpus.empty();
  }
};

Result<std::string> new_template_json(const std::string& name, const NewTemplateWords& words);

}  // namespace glovebox::client
