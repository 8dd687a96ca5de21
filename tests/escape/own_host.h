// The escape test's own view of the host, in which "nothing is left" can be counted exactly
// whatever else runs there: a pid namespace, and a /run/glovebox of its own.
#pragma once

#include <functional>
#include <set>
#include <string>

namespace glovebox::attack {

// Runs the tests there if this is root, else where it is; their exit status. Needs a single thread.
int run_on_own_host(const std::function<int()>& tests);

// Cgroups of launchers that are not others' (in every hierarchy), and processes that run as a
// sandbox's uid. Others come and go while this looks.
std::set<std::string> traces_on_host();

}  // namespace glovebox::attack
