// What an image's configuration says about a program in a session, where its caller says nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/image.h"
#include "sessions/processes/user_environment.h"

namespace glovebox::sessions {

// Of an exec or of a code context: its `user` and `cwd`, unless `has_user` and `has_cwd`.
// `environment` is the session's.
template <class Start>
void use_image_defaults(Start& start, const std::vector<std::string>& environment) {
  std::string user = variable_in(environment, kImageUserVariable);
  if (!start.has_user && !user.empty()) {
    start.user = std::move(user);
    if (!start.has_cwd) start.cwd = home_of(start.user);
  }
  std::string workdir = variable_in(environment, kImageWorkdirVariable);
  if (!start.has_cwd && !workdir.empty()) start.cwd = std::move(workdir);
}

}  // namespace glovebox::sessions
