// Waits until it is told to go and then executes newuidmap or newgidmap, in the forked child.
#pragma once

namespace glovebox::sys {

struct IdMapperPlan {
  const char* program = nullptr;
  const char* const* argv = nullptr;
  int go_fd = -1;          // readable when the parent is in its user namespace
  int parents_go_fd = -1;  // its other end, which only the parent may hold
  int words_fd = -1;       // for what the program writes
};

[[noreturn]] void run_id_mapper_child(const IdMapperPlan& plan) noexcept;

}  // namespace glovebox::sys
