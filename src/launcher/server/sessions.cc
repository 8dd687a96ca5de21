#include "launcher/server/sessions.h"

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
#include "wire/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

// A joined runtime takes two words of its agent: to ask for it, and that it has come.
constexpr double kMostWords = 32;
constexpr double kWordsPerSecond = 16;
constexpr std::chrono::seconds kJoinsWithin{3};
constexpr std::chrono::seconds kFreezesWithin{5};
constexpr std::chrono::milliseconds kLooksAtFreezing{2};

// The sandbox's namespaces, as its first process has them, in the order that a zygote wants. None
// is taken from the agent: it could show a zygote anything.
Result<std::vector<UniqueFd>> open_namespaces(const Sandbox& sandbox) {
  const std::string place = "/proc/" + std::to_string(sandbox.session()->init_pid) + "/ns/";
  std::vector<UniqueFd> namespaces;
  for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    UniqueFd fd(::open((place + kind).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail(Error::from_errno(std::string("open a session's namespace: ") + kind));
    namespaces.push_back(std::move(fd));
  }
  // If it is alive now, the number was its own all the time.
  pollfd dead{sandbox.pidfd(), POLLIN, 0};
  if (::poll(&dead, 1, 0) != 0) return fail(Errc::kUnavailable, "the session has ended");
  return namespaces;
}

}  // namespace

wire::SandboxMeasured Sessions::measure(const Owned& owned, std::uint32_t seq) const {
  wire::SandboxMeasured measured;
  measured.seq = seq;
  const Usage usage = owned.sandbox.usage();
  const sys::CgroupNow now = owned.sandbox.cgroup().now();
  measured.cpu_us = static_cast<std::uint64_t>(usage.cpu.count());
  measured.memory_bytes = now.memory_bytes.value_or(0);
  measured.peak_memory_bytes = usage.peak_memory_bytes;
  // All but the agent.
  measured.processes = std::max<std::uint32_t>(now.processes.value_or(1), 1) - 1;
  measured.oom_kills = usage.oom_kills;
  struct statfs disk {};
  if (::fstatfs(owned.sandbox.session()->upper.get(), &disk) == 0) {
    const auto block = static_cast<std::uint64_t>(disk.f_bsize);
    measured.disk_bytes = (disk.f_blocks - disk.f_bfree) * block;
    measured.disk_limit_bytes = disk.f_blocks * block;
  }
  return measured;
}

Sessions::Affairs& Sessions::affairs_of(Owned& owned) {
  const auto [at, is_new] = affairs_.try_emplace(&owned);
  if (is_new) {
    at->second.words = kMostWords;
    at->second.counted_at = Clock::now();
  }
  return at->second;
}

void Sessions::refuse(Client& client, std::uint32_t seq, const Error& error) {
  say_(client, wire::SandboxRefused{seq, error.code(), error.sys_errno(), error.message()});
}

void Sessions::freeze(Client& client, Owned& owned, const wire::FreezeSandbox& request) {
  Sandbox::Session& session = *owned.sandbox.session();
  Affairs& affairs = affairs_of(owned);
  if (affairs.freeze) {
    return refuse(client, request.seq, Error(Errc::kConflict, "it is being stopped already"));
  }
  if (request.frozen == session.frozen) return say_(client, wire::Done{request.seq});
  if (!request.frozen) {
    if (auto thawed = owned.sandbox.cgroup().freeze(false); !thawed) {
      return refuse(client, request.seq, thawed.error());
    }
    session.frozen = false;
    return say_(client, wire::Done{request.seq});
  }
  const Clock::time_point now = Clock::now();
  affairs.freeze.emplace(Affairs::Freeze{&client, request.seq, now + kFreezesWithin});
  go_on_freezing(owned, affairs, now);
}

// Not while a zygote's child is on its way in: where there is only one hierarchy it would be
// stopped there, and the zygote with it.
void Sessions::go_on_freezing(Owned& owned, Affairs& affairs, Clock::time_point now) {
  Affairs::Freeze& freeze = *affairs.freeze;
  Result<> done;
  if (!freeze.begun && !(affairs.join && affairs.join->can_be_stopped)) {
    done = owned.sandbox.cgroup().freeze(true);
    freeze.begun = done.has_value();
  }
  const bool frozen = done && freeze.begun && owned.sandbox.cgroup().is_frozen();
  if (done && !frozen) {
    if (now < freeze.deadline) return;
    (void)owned.sandbox.cgroup().freeze(false);
    done = fail(Errc::kTimeout, "its processes do not stop");
  }
  owned.sandbox.session()->frozen = frozen;
  Client* client = freeze.client;
  const std::uint32_t seq = freeze.seq;
  affairs.freeze.reset();
  if (client == nullptr) return;
  if (frozen) return say_(*client, wire::Done{seq});
  refuse(*client, seq, done.error());
}

void Sessions::count_words(Affairs& affairs, Clock::time_point now) const {
  const std::chrono::duration<double> passed = now - affairs.counted_at;
  affairs.words = std::min(kMostWords, affairs.words + passed.count() * kWordsPerSecond);
  affairs.counted_at = now;
}

void Sessions::on_talk(Owned& owned) {
  if (owned.sandbox.session() == nullptr || owned.sandbox.is_ending()) return;
  Affairs& affairs = affairs_of(owned);
  count_words(affairs, Clock::now());
  affairs.words -= 1;
  on_message(owned, affairs);
}

// Listened to again only if all is well, and not before it may talk again.
void Sessions::on_message(Owned& owned, Affairs& affairs) {
  const Sandbox::Session& session = *owned.sandbox.session();
  auto received =
      receive_message(session.setup.get(), wire::kMaxPlanMessage, wire::kDescriptorsOfARuntime);
  if (received && received->bytes.empty()) return;  // its agent is on its way out
  const auto message = received ? wire::decode_plan_message(received->bytes)
                                : Result<wire::PlanMessage>(fail(std::move(received.error())));
  if (message && std::holds_alternative<wire::JoinPlaces>(*message)) {
    if (auto joined = join(owned, affairs, received->fds); !joined) {
      const wire::JoinRefused refused{std::get<wire::JoinPlaces>(*message).ticket,
                                      joined.error().message()};
      // If it does not take its answers it has none.
      (void)send_message(session.setup.get(), wire::encode(wire::PlanMessage(refused)));
    }
  } else if (message && (std::holds_alternative<wire::RuntimeReady>(*message) ||
                         std::holds_alternative<wire::SandboxFailed>(*message))) {
    end_join(owned, affairs);
  } else if (!message && message.error().sys_errno() == EAGAIN) {
    // Nothing after all.
  } else {
    log::warn("a session's agent says what it must not", {{"sandbox", owned.sandbox.id().str()}});
    return owned.sandbox.kill(EndReason::kAgentKilled);
  }
  affairs.rests = affairs.words < 1;
  if (!affairs.rests) watch_.listen_again(owned);
}

namespace {

// Pipes, a device for what has no pipe, and last a socket of ours: what the zygote gets from a
// sandbox must be nothing that it, or we, could be made to wait for.
bool are_places(std::span<const UniqueFd> places) {
  if (places.size() != wire::kDescriptorsOfARuntime) return false;
  for (std::size_t i = 0; i < places.size(); ++i) {
    struct stat info {};
    if (::fstat(places[i].get(), &info) != 0) return false;
    if (i + 1 < places.size()) {
      if (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode)) return false;
      continue;
    }
    int domain = 0;
    socklen_t size = sizeof domain;
    if (!S_ISSOCK(info.st_mode) ||
        ::getsockopt(places[i].get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
        domain != AF_UNIX) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<> Sessions::join(Owned& owned, Affairs& affairs, std::span<const UniqueFd> places) {
  const Sandbox::Session& session = *owned.sandbox.session();
  if (!are_places(places)) return fail(Errc::kProtocol, "a runtime has other places");
  end_join(owned, affairs);  // one at a time: whatever has become of it, its agent has moved on
  if (session.frozen || affairs.freeze) return fail(Errc::kConflict, "the session is stopped");
  Zygote* zygote = session.zygote_uid != 0
                       ? broods_.find_zygote(session.template_name, session.zygote_uid)
                       : nullptr;
  if (zygote == nullptr) return fail(Errc::kUnavailable, "the zygote is gone");
  TRY(const std::vector<UniqueFd> namespaces, open_namespaces(owned.sandbox));
  std::size_t slowing = 0;
  TRY(const std::vector<UniqueFd> cgroups,
      owned.sandbox.cgroup().open_join_files(sys::Cgroup::JoinV2::kYes, &slowing));
  // The zygote waits for its joiner: so nobody but the guest itself enters what may be throttled.
  slowing = cgroups.size();
  std::vector<int> passed;
  for (const UniqueFd& fd : namespaces) passed.push_back(fd.get());
  for (const UniqueFd& fd : cgroups) passed.push_back(fd.get());
  for (const UniqueFd& fd : places) passed.push_back(fd.get());
  TRY_OK(zygote->join(passed, {.cgroups = cgroups.size(),
                               .change_user = owned.sandbox.slice().has_value(),
                               .landlock = false,
                               .hurry = true,
                               .session = true,
                               .slowing = slowing}));
  ++zygote->pending;
  affairs.join.emplace(Affairs::Join{session.zygote_uid, Clock::now() + kJoinsWithin,
                                     /*can_be_stopped=*/slowing == 0 && !cgroups.empty()});
  return {};
}

void Sessions::end_join(Owned& owned, Affairs& affairs) {
  if (!affairs.join) return;
  const Sandbox::Session* session = owned.sandbox.session();
  if (session != nullptr) broods_.joined(session->template_name, affairs.join->zygote_uid);
  affairs.join.reset();
}

void Sessions::look(Clock::time_point now) {
  std::vector<Owned*> idle;
  for (auto& [owned, affairs] : affairs_) {
    // Whether a child arrives is for the agent to say, and an agent that keeps silent says nothing
    // of the zygote: that is nobody's fault here.
    if (affairs.join && now >= affairs.join->deadline) end_join(*owned, affairs);
    if (affairs.freeze) go_on_freezing(*owned, affairs, now);
    count_words(affairs, now);
    if (affairs.rests && affairs.words >= 1) {
      affairs.rests = false;
      watch_.listen_again(*owned);
    }
    const bool busy = affairs.join || affairs.freeze || affairs.rests;
    if (!busy && affairs.words >= kMostWords) idle.push_back(owned);
  }
  for (Owned* owned : idle) affairs_.erase(owned);
}

std::optional<Clock::time_point> Sessions::next_look(Clock::time_point now) const {
  std::optional<Clock::time_point> next;
  const auto sooner = [&next](Clock::time_point at) { next = std::min(next.value_or(at), at); };
  for (const auto& [owned, affairs] : affairs_) {
    if (affairs.join) sooner(affairs.join->deadline);
    if (affairs.freeze) sooner(now + kLooksAtFreezing);
    if (affairs.rests)
      sooner(now + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(1 / kWordsPerSecond)));
    sooner(now + std::chrono::seconds(5));  // to be forgotten
  }
  return next;
}

void Sessions::forget(Owned& owned) {
  const auto found = affairs_.find(&owned);
  if (found == affairs_.end()) return;
  end_join(owned, found->second);
  if (const auto& freeze = found->second.freeze; freeze && freeze->client != nullptr) {
    refuse(*freeze->client, freeze->seq, Error(Errc::kNotFound, "the session has ended"));
  }
  affairs_.erase(found);
}

void Sessions::forget(const Client& client) {
  for (auto& [owned, affairs] : affairs_) {
    if (affairs.freeze && affairs.freeze->client == &client) affairs.freeze->client = nullptr;
  }
}

}  // namespace glovebox::launcher
