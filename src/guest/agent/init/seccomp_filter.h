// The system-call filter, compiled at build time by gen_filter (building it takes 2 ms, every
// sandbox would pay that). Programs that all must agree: one refuses by argument, one is the list
// of calls that exist at all.
#pragma once

namespace glovebox::agent {

enum class ExtraFilter : unsigned char {
  kNone,
  kProcess,            // the process engine: nothing that reaches the host's other processes
  kProcessAndSignals,  // and no signals at all
};

// What a zygote lives with, and every process forked from it beneath its own: a guest's calls and
// setns. Async-signal-safe; needs no_new_privs or CAP_SYS_ADMIN. Returns 0 or an errno.
int install_zygote_filters() noexcept;
// What makes a guest of a zygote's child: the big filters are on it already, and the kernel would
// take a fifth of a millisecond to translate them again.
int install_joined_filter() noexcept;
// The same in a session, whose root must not reach the agent. Without no_new_privs it needs
// CAP_SYS_ADMIN.
int install_session_joined_filter() noexcept;

// What everything in a session lives with, root inside too. It is installed without no_new_privs
// (or sudo could not work), so it needs CAP_SYS_ADMIN. Async-signal-safe. Returns 0 or an errno.
enum class SetuidFiles : bool { kRefused, kAllowed };
int install_session_filters(SetuidFiles setuid_files) noexcept;

// Async-signal-safe; needs no_new_privs or CAP_SYS_ADMIN. Returns 0 or an errno.
int install_filters(ExtraFilter extra) noexcept;

}  // namespace glovebox::agent
