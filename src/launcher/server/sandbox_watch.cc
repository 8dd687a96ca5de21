#include "launcher/server/sandbox_watch.h"

#include <sys/epoll.h>

#include <cstdint>

namespace glovebox::launcher {
namespace {

// The lowest bit of a record's address is free to tell its two descriptors apart.
static_assert(alignof(SandboxRecord) >= 2);
constexpr std::uint64_t kIsSetupSocket = 1;
constexpr int kMaxEvents = 128;

std::uint64_t key_of(const SandboxRecord& record) {
  return reinterpret_cast<std::uintptr_t>(&record);
}

epoll_event setup_event(const SandboxRecord& record) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = key_of(record) | kIsSetupSocket;
  return event;
}

}  // namespace

Result<SandboxWatch> SandboxWatch::open() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(Error::from_errno("epoll_create1"));
  return SandboxWatch(std::move(epoll));
}

Result<> SandboxWatch::add(SandboxRecord& record) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key_of(record);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, record.sandbox.pidfd(), &event) != 0) {
    return fail(Error::from_errno("epoll_ctl: add a sandbox's process"));
  }
  if (const Sandbox::Session* session = record.sandbox.session()) {
    epoll_event setup = setup_event(record);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, session->setup.get(), &setup) != 0) {
      return fail(Error::from_errno("epoll_ctl: add a session's socket"));
    }
  }
  return {};
}

void SandboxWatch::remove(const SandboxRecord& record) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, record.sandbox.pidfd(), nullptr);
  if (const Sandbox::Session* session = record.sandbox.session()) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, session->setup.get(), nullptr);
  }
}

void SandboxWatch::rearm(SandboxRecord& record) {
  const Sandbox::Session* session = record.sandbox.session();
  if (session == nullptr) return;
  epoll_event setup = setup_event(record);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, session->setup.get(), &setup);
}

SandboxWatch::Events SandboxWatch::take() {
  Events found;
  epoll_event events[kMaxEvents];
  const int count = ::epoll_wait(epoll_.get(), events, kMaxEvents, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[i].data.u64;
    auto* record =
        reinterpret_cast<SandboxRecord*>(static_cast<std::uintptr_t>(key & ~kIsSetupSocket));
    ((key & kIsSetupSocket) != 0 ? found.readable : found.dead).push_back(record);
  }
  return found;
}

}  // namespace glovebox::launcher
