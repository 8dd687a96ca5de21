// The process engine has no root of its own: /home/user is replaced by a private directory of the
// host, in paths, arguments and environment.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "model/sandbox_spec.h"

namespace glovebox::agent {

std::string path_in_home(std::string_view path, std::string_view home);
ExecSpec with_home(ExecSpec exec, std::string_view home);

// The list of this process's children, opened while /proc may still be.
UniqueFd open_list_of_children();
// Kills all descendants of this process. As it is their subreaper, every orphan becomes its child.
void kill_descendants(int list_of_children);

}  // namespace glovebox::agent
