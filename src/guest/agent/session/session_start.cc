#include "guest/agent/session/session_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "guest/agent/run/guest_child.h"
#include "guest/agent/run/guest_files.h"
#include "guest/agent/run/program.h"

namespace glovebox::agent {
namespace {

bool move_past_standard_streams(UniqueFd& fd) {
  fd.reset(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFreeFd));
  return static_cast<bool>(fd);
}

bool does_not_block(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool pipe_between(UniqueFd& read_end, UniqueFd& write_end, UniqueFd& ours, UniqueFd& theirs) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return does_not_block(ours.get()) && move_past_standard_streams(theirs);
}
bool pipe_to_them(UniqueFd& ours, UniqueFd& theirs) {
  return pipe_between(theirs, ours, ours, theirs);
}
bool pipe_from_them(UniqueFd& ours, UniqueFd& theirs) {
  return pipe_between(ours, theirs, ours, theirs);
}

bool copy_up(int fd, UniqueFd& copy) {
  copy.reset(::fcntl(fd, F_DUPFD_CLOEXEC, kFirstFreeFd));
  return static_cast<bool>(copy);
}

bool make_session_terminal(TerminalSize size, SessionStreams& streams) {
  UniqueFd slave;
  if (!open_terminal(size, streams.ours.out, slave) || !does_not_block(streams.ours.out.get()) ||
      !copy_up(streams.ours.out.get(), streams.ours.in)) {
    return false;
  }
  return copy_up(slave.get(), streams.theirs.in) && copy_up(slave.get(), streams.theirs.out) &&
         copy_up(slave.get(), streams.theirs.err);
}

// A few processes are reserved for the agent: a guest at its process limit can still be inspected
// and repaired.
std::uint32_t processes_of_a_user(std::uint32_t pids) {
  return pids - std::min<std::uint32_t>(8, pids / 4);
}

ServePlan like_a_run(const SessionPlan& plan) {
  ServePlan like;
  like.limits = plan.limits;
  like.shares = plan.shares;
  like.limits.pids = processes_of_a_user(plan.limits.pids);
  like.memory_is_bounded = plan.memory_is_bounded;
  return like;
}

bool has_variable(const std::vector<std::string>& env, std::string_view name) {
  return std::any_of(env.begin(), env.end(), [&](const std::string& one) {
    return one.size() > name.size() && one[name.size()] == '=' &&
           one.compare(0, name.size(), name) == 0;
  });
}

// The variables that programs expect of their user, unless the caller set them.
void add_users_own(const SessionUser& user, bool terminal, std::vector<std::string>& env) {
  const bool root = user.uid == 0;
  const std::pair<std::string_view, std::string> own[] = {
      {"PATH", root ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
                    : "/usr/local/bin:/usr/bin:/bin"},
      {"HOME", user.home},
      {"USER", user.name},
      {"LOGNAME", user.name},
      {"SHELL", user.shell.empty() ? "/bin/sh" : user.shell},
      {"TERM", terminal ? "xterm-256color" : ""},
  };
  for (const auto& [name, value] : own) {
    if (!value.empty() && !has_variable(env, name)) env.push_back(std::string(name) + "=" + value);
  }
}

ForkedProgram refused(std::string step, int error) {
  ForkedProgram forked;
  forked.step = std::move(step);
  forked.error = error;
  return forked;
}

}  // namespace

bool make_streams(const wire::StartProcess& start, const SessionUser& user, bool change_user,
                  int null, SessionStreams& streams) {
  // Owned by the user, who may reopen the streams by name (/dev/stdout) and the terminal as well.
  const AsGuestUser as_user(change_user, user.uid, user.gid);
  if (start.exec.terminal) return make_session_terminal(*start.exec.terminal, streams);
  StreamEnds& ours = streams.ours;
  StreamEnds& theirs = streams.theirs;
  const bool made =
      (start.has_stdin ? pipe_to_them(ours.in, theirs.in) : copy_up(null, theirs.in)) &&
      pipe_from_them(ours.out, theirs.out) && pipe_from_them(ours.err, theirs.err);
  if (!made || start.kind == wire::ProcessKind::kProgram) return made;
  return pipe_from_them(ours.results, theirs.results) &&
         pipe_to_them(ours.requests, theirs.requests);
}

ForkedProgram fork_program(const SessionPlan& plan, const wire::StartProcess& start,
                           const SessionUser& user, const StreamEnds& theirs) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return refused("pipe", errno);
  ForkedProgram forked;
  forked.failure.reset(ends[0]);
  UniqueFd failure(ends[1]);
  if (!move_past_standard_streams(failure)) return refused("pipe", errno);

  ExecSpec exec = start.exec;
  add_users_own(user, exec.terminal.has_value(), exec.env);
  exec.argv[0] = find_program(exec);
  if (exec.workdir.empty()) exec.workdir = user.home;
  const std::vector<char*> argv = pointers_to(exec.argv);
  const std::vector<char*> envp = pointers_to(exec.env);
  const std::vector<RlimitEntry> rlimits = rlimits_of(like_a_run(plan));
  GuestPlan child;
  child.argv = argv.data();
  child.envp = envp.data();
  child.workdir = exec.workdir.c_str();
  child.stdin_fd = theirs.in.get();
  child.stdout_fd = theirs.out.get();
  child.stderr_fd = theirs.err.get();
  if (theirs.results) {
    child.more_fds[0] = theirs.results.get();
    child.more_fds[1] = theirs.requests.get();
    child.more_count = 2;
  }
  child.terminal = exec.terminal.has_value();
  child.rlimits = rlimits.data();
  child.rlimit_count = rlimits.size();
  child.failure_fd = failure.get();
  child.session = true;
  child.setuid_files = plan.setuid_files;
  child.identity = {user.uid, user.gid, user.groups.data(), user.groups.size(), plan.change_user};

  forked.pid = ::fork();
  if (forked.pid < 0) return refused("fork", errno);
  if (forked.pid == 0) run_guest_child(child);
  return forked;
}

bool limit_process(const SessionPlan& plan, pid_t pid) {
  return limit_runtime(like_a_run(plan), pid).has_value();
}

}  // namespace glovebox::agent
