// The seccomp filters, compiled at build time by gen_filter (compiling takes 2 ms, which every
// sandbox would pay). They are stacked, and a call must pass all of them: one checks arguments, one
// is the list of allowed calls.
#pragma once

namespace glovebox::agent {

enum class ExtraFilter : unsigned char {
  kNone,
  kProcess,            // the process engine: nothing that reaches the host's other processes
  kProcessAndSignals,  // and no signals at all
};

// The filters of a zygote, which its children inherit: a guest's calls and setns.
// Async-signal-safe; needs no_new_privs or CAP_SYS_ADMIN. Returns 0 or an errno.
int install_zygote_filters() noexcept;
// The additional filter of a zygote's child in a run: it has inherited the big filters, which the
// kernel would need a fifth of a millisecond to translate again.
int install_joined_filter() noexcept;
// The same in a session, whose root must not reach the agent. Without no_new_privs it needs
// CAP_SYS_ADMIN.
int install_session_joined_filter() noexcept;

// The filters of every process in a session, including root inside. Installed without no_new_privs,
// which would break sudo, so it needs CAP_SYS_ADMIN. Async-signal-safe. Returns 0 or an errno.
enum class SetuidFiles : bool { kRefused, kAllowed };
int install_session_filters(SetuidFiles setuid_files) noexcept;

// Async-signal-safe; needs no_new_privs or CAP_SYS_ADMIN. Returns 0 or an errno.
int install_filters(ExtraFilter extra) noexcept;

}  // namespace glovebox::agent
