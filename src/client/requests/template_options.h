// The options of `glovebox template create` as the body of POST /v1/templates.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "client/requests/limit_options.h"
#include "wire/packages/package_options.h"

namespace glovebox::client {

struct NewTemplateOptions {
  std::string from;
  std::string snapshot;  // excludes everything but the description
  std::string image;     // in place of the host's files; the base is then python, if not said
  std::string pull;      // of --pull: when the image is pulled first
  std::string description;
  std::vector<std::string> env;  // "NAME=VALUE"
  std::string timeout;
  LimitOptions limits;
  wire::PackageOptions packages;  // --preload may name other modules, too
  std::string pool;               // "2" or "2-8"
  std::string session_pool;
  bool is_given() const {
    return changes_base() || !from.empty() || !snapshot.empty() || !description.empty() ||
           !image.empty() || !pull.empty();
  }
  bool changes_base() const {
    return packages.is_given() || !env.empty() || !timeout.empty() || limits.is_given() ||
           !pool.empty() || !session_pool.empty();
  }
};

Result<std::string> new_template_json(const std::string& name, const NewTemplateOptions& made);

}  // namespace glovebox::client
