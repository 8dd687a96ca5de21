#include "launcher/server/session_control.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/vfs.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/fd_message.h"
#include "base/log.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

// A runtime that joins takes two messages of the agent: the request, and that it has arrived.
constexpr double kMaxTokens = 32;
constexpr double kTokensPerSecond = 16;
constexpr std::chrono::seconds kJoinTimeout{3};
constexpr std::chrono::seconds kFreezeTimeout{5};
constexpr std::chrono::milliseconds kFreezeCheckInterval{2};

// The sandbox's namespaces, as its first process has them, in the order that a zygote expects. Not
// taken from the agent, which could pass the zygote any namespace.
Result<std::vector<UniqueFd>> open_namespaces(const Sandbox& sandbox) {
  const std::string directory = "/proc/" + std::to_string(sandbox.session()->init_pid) + "/ns/";
  std::vector<UniqueFd> namespaces;
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    UniqueFd fd(::open((directory + kind).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail(Error::from_errno(std::string("open a session's namespace ") + kind));
    namespaces.push_back(std::move(fd));
  }
  // If the process is alive now, the pid was its own all the time.
  pollfd dead{sandbox.pidfd(), POLLIN, 0};
  if (::poll(&dead, 1, 0) != 0) return fail(Errc::kUnavailable, "the session has ended");
  return namespaces;
}

}  // namespace

wire::SandboxMeasured SessionControl::measure(const SandboxRecord& record,
                                              std::uint32_t seq) const {
  wire::SandboxMeasured measured;
  measured.seq = seq;
  const Usage usage = record.sandbox.usage();
  const sys::CgroupNow now = record.sandbox.cgroup().now();
  if (record.sandbox.cgroup().features().cpu_time) {
    measured.cpu_us = static_cast<std::uint64_t>(usage.cpu.count());
  }
  measured.memory_bytes = now.memory_bytes;
  measured.peak_memory_bytes = usage.peak_memory_bytes;
  // Without the agent.
  if (now.processes) measured.processes = std::max<std::uint32_t>(*now.processes, 1) - 1;
  measured.oom_kills = usage.oom_kills;
  measured.socket_bytes = now.socket_bytes;
  struct statfs disk {};
  if (::fstatfs(record.sandbox.session()->upper.get(), &disk) == 0) {
    const auto block = static_cast<std::uint64_t>(disk.f_bsize);
    measured.disk_bytes = (disk.f_blocks - disk.f_bfree) * block;
    measured.disk_limit_bytes = disk.f_blocks * block;
  }
  return measured;
}

SessionControl::State& SessionControl::state_of(SandboxRecord& record) {
  const auto [at, is_new] = states_.try_emplace(&record);
  if (is_new) {
    at->second.tokens = kMaxTokens;
    at->second.refilled_at = Clock::now();
  }
  return at->second;
}

void SessionControl::refuse(Client& client, std::uint32_t seq, const Error& error) {
  send_(client, wire::SandboxRefused{seq, error.code(), error.sys_errno(), error.message()});
}

void SessionControl::freeze(Client& client, SandboxRecord& record,
                            const wire::FreezeSandbox& request) {
  Sandbox::Session& session = *record.sandbox.session();
  State& state = state_of(record);
  if (state.freeze) {
    return refuse(client, request.seq,
                  Error(Errc::kConflict, "the session is being frozen already"));
  }
  if (request.frozen == session.frozen) return send_(client, wire::Done{request.seq});
  if (!request.frozen) {
    if (auto thawed = record.sandbox.cgroup().freeze(false); !thawed) {
      return refuse(client, request.seq, thawed.error());
    }
    session.frozen = false;
    return send_(client, wire::Done{request.seq});
  }
  const Clock::time_point now = Clock::now();
  state.freeze.emplace(State::Freeze{&client, request.seq, now + kFreezeTimeout});
  continue_freezing(record, state, now);
}

// Not while a zygote's child is on its way in: with a single cgroup hierarchy the child would be
// frozen halfway, and the zygote that waits for it as well.
void SessionControl::continue_freezing(SandboxRecord& record, State& state, Clock::time_point now) {
  State::Freeze& freeze = *state.freeze;
  Result<> done;
  if (!freeze.begun && !(state.join && state.join->freezer_would_stop_it)) {
    done = record.sandbox.cgroup().freeze(true);
    freeze.begun = done.has_value();
  }
  const bool frozen = done && freeze.begun && record.sandbox.cgroup().is_frozen();
  if (done && !frozen) {
    if (now < freeze.deadline) return;
    (void)record.sandbox.cgroup().freeze(false);
    done = fail(Errc::kTimeout, "the session's processes did not freeze in time");
  }
  record.sandbox.session()->frozen = frozen;
  Client* client = freeze.client;
  const std::uint32_t seq = freeze.seq;
  state.freeze.reset();
  if (client == nullptr) return;
  if (frozen) return send_(*client, wire::Done{seq});
  refuse(*client, seq, done.error());
}

void SessionControl::refill_tokens(State& state, Clock::time_point now) const {
  const std::chrono::duration<double> passed = now - state.refilled_at;
  state.tokens = std::min(kMaxTokens, state.tokens + passed.count() * kTokensPerSecond);
  state.refilled_at = now;
}

void SessionControl::on_readable(SandboxRecord& record) {
  if (record.sandbox.session() == nullptr || record.sandbox.is_ending()) return;
  State& state = state_of(record);
  refill_tokens(state, Clock::now());
  state.tokens -= 1;
  read_message(record, state);
}

// The socket is watched again only if the message was valid, and not before there is a token.
void SessionControl::read_message(SandboxRecord& record, State& state) {
  const Sandbox::Session& session = *record.sandbox.session();
  auto received =
      receive_message(session.setup.get(), wire::kMaxPlanMessage, wire::kDescriptorsOfARuntime);
  if (received && received->bytes.empty()) return;  // its agent is exiting
  const auto message = received ? wire::decode_plan_message(received->bytes)
                                : Result<wire::PlanMessage>(fail(std::move(received.error())));
  if (message && std::holds_alternative<wire::JoinRuntime>(*message)) {
    if (auto joined = join(record, state, received->fds); !joined) {
      const wire::JoinRefused refused{std::get<wire::JoinRuntime>(*message).ticket,
                                      joined.error().message()};
      // An agent that does not read gets no reply.
      (void)send_message(session.setup.get(), wire::encode(wire::PlanMessage(refused)));
    }
  } else if (message && (std::holds_alternative<wire::RuntimeReady>(*message) ||
                         std::holds_alternative<wire::SandboxFailed>(*message))) {
    end_join(record, state);
  } else if (!message && message.error().sys_errno() == EAGAIN) {
    // A spurious wake-up.
  } else {
    log::warn("a session's agent sent an unexpected message; the session is ended",
              {{"sandbox", record.sandbox.id().str()}});
    return record.sandbox.kill(EndReason::kAgentKilled);
  }
  state.paused = state.tokens < 1;
  if (!state.paused) watch_.rearm(record);
}

namespace {

// Pipes, a character device for what has no pipe, and last a unix socket. The zygote must not be
// given anything else from inside a sandbox: it could be made to wait for it.
bool are_runtime_descriptors(std::span<const UniqueFd> fds) {
  if (fds.size() != wire::kDescriptorsOfARuntime) return false;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    struct stat info {};
    if (::fstat(fds[i].get(), &info) != 0) return false;
    if (i + 1 < fds.size()) {
      if (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode)) return false;
      continue;
    }
    int domain = 0;
    socklen_t size = sizeof domain;
    if (!S_ISSOCK(info.st_mode) ||
        ::getsockopt(fds[i].get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
        domain != AF_UNIX) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<> SessionControl::join(SandboxRecord& record, State& state,
                              std::span<const UniqueFd> runtime_fds) {
  const Sandbox::Session& session = *record.sandbox.session();
  if (!are_runtime_descriptors(runtime_fds)) {
    return fail(Errc::kProtocol, "these are not the descriptors of a runtime");
  }
  end_join(record, state);  // one at a time: the agent has given up on the last one
  if (session.frozen || state.freeze) return fail(Errc::kConflict, "the session is frozen");
  Zygote* zygote = session.zygote_uid != 0
                       ? nurseries_.find_zygote(session.template_name, session.zygote_uid)
                       : nullptr;
  if (zygote == nullptr) return fail(Errc::kUnavailable, "the zygote has ended");
  TRY(const std::vector<UniqueFd> namespaces, open_namespaces(record.sandbox));
  std::size_t throttling = 0;
  TRY(const std::vector<UniqueFd> cgroups,
      record.sandbox.cgroup().open_join_files(sys::Cgroup::JoinV2::kYes, &throttling));
  // The zygote waits for the process that joins, so only the guest itself enters cgroups that may
  // be throttled: here all of them.
  throttling = cgroups.size();
  std::vector<int> passed;
  for (const UniqueFd& fd : namespaces) passed.push_back(fd.get());
  for (const UniqueFd& fd : cgroups) passed.push_back(fd.get());
  for (const UniqueFd& fd : runtime_fds) passed.push_back(fd.get());
  TRY_OK(zygote->join(passed, {.cgroups = cgroups.size(),
                               .change_user = record.sandbox.slice().has_value(),
                               .landlock = false,
                               .hurry = true,
                               .session = true,
                               .throttling_cgroups = throttling}));
  ++zygote->pending;
  state.join.emplace(State::Join{session.zygote_uid, Clock::now() + kJoinTimeout,
                                 /*freezer_would_stop_it=*/throttling == 0 && !cgroups.empty()});
  return {};
}

void SessionControl::end_join(SandboxRecord& record, State& state) {
  if (!state.join) return;
  const Sandbox::Session* session = record.sandbox.session();
  if (session != nullptr) nurseries_.join_finished(session->template_name, state.join->zygote_uid);
  state.join.reset();
}

void SessionControl::advance(Clock::time_point now) {
  std::vector<SandboxRecord*> idle;
  for (auto& [record, state] : states_) {
    // The agent reports whether a child has arrived. If it does not, that says nothing about the
    // zygote, which therefore stays.
    if (state.join && now >= state.join->deadline) end_join(*record, state);
    if (state.freeze) continue_freezing(*record, state, now);
    refill_tokens(state, now);
    if (state.paused && state.tokens >= 1) {
      state.paused = false;
      watch_.rearm(*record);
    }
    const bool busy = state.join || state.freeze || state.paused;
    if (!busy && state.tokens >= kMaxTokens) idle.push_back(record);
  }
  for (SandboxRecord* record : idle) states_.erase(record);
}

std::optional<Clock::time_point> SessionControl::next_check(Clock::time_point now) const {
  std::optional<Clock::time_point> next;
  const auto sooner = [&next](Clock::time_point at) { next = std::min(next.value_or(at), at); };
  for (const auto& [record, state] : states_) {
    if (state.join) sooner(state.join->deadline);
    if (state.freeze) sooner(now + kFreezeCheckInterval);
    if (state.paused)
      sooner(now + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(1 / kTokensPerSecond)));
    sooner(now + std::chrono::seconds(5));  // to remove the state
  }
  return next;
}

void SessionControl::forget(SandboxRecord& record) {
  const auto found = states_.find(&record);
  if (found == states_.end()) return;
  end_join(record, found->second);
  if (const auto& freeze = found->second.freeze; freeze && freeze->client != nullptr) {
    refuse(*freeze->client, freeze->seq, Error(Errc::kNotFound, "the session has ended"));
  }
  states_.erase(found);
}

void SessionControl::forget(const Client& client) {
  for (auto& [record, state] : states_) {
    if (state.freeze && state.freeze->client == &client) state.freeze->client = nullptr;
  }
}

}  // namespace glovebox::launcher
