// What a forked child of a session's agent does before it runs a guest's program: it drops the
// agent's privileges and descriptors, and becomes the requested user. Unlike a run's program it may
// gain privileges again (sudo), but never more than root inside has: the session's capabilities, in
// its own namespace.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace glovebox::agent {

// Laid out by the agent before the fork; the child only reads it.
struct SessionIdentity {
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  std::size_t group_count = 0;
  bool change_user = true;  // rootless: the only mapped user is the guest's already
};

// Docker's default without NET_RAW and MKNOD: what sudo, package managers and servers need.
bool is_session_capability(int capability) noexcept;

// Async-signal-safe; all return 0 or an errno.
int be_killable_by_oom() noexcept;
// Keeps `kept` of the descriptors from `first` on, which are in ascending order.
int close_all_but(unsigned first, const int* kept, std::size_t kept_count) noexcept;
int become_session_user(const SessionIdentity& identity) noexcept;
// Keeps the session's capabilities for root inside, none for other users.
int keep_session_capabilities(const SessionIdentity& identity) noexcept;

}  // namespace glovebox::agent
