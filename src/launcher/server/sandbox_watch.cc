#include "launcher/server/sandbox_watch.h"

#include <sys/epoll.h>

#include <cstdint>

namespace glovebox::launcher {
namespace {

// The lowest bit of a record's address is free to say which of its two descriptors it is.
static_assert(alignof(Owned) >= 2);
constexpr std::uint64_t kTalks = 1;
constexpr int kMostAtOnce = 128;

std::uint64_t key_of(const Owned& owned) { return reinterpret_cast<std::uintptr_t>(&owned); }

epoll_event talk_event(const Owned& owned) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = key_of(owned) | kTalks;
  return event;
}

}  // namespace

Result<SandboxWatch> SandboxWatch::open() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(Error::from_errno("epoll_create1"));
  return SandboxWatch(std::move(epoll));
}

Result<> SandboxWatch::add(Owned& owned) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = key_of(owned);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, owned.sandbox.pidfd(), &event) != 0) {
    return fail(Error::from_errno("watch a sandbox"));
  }
  if (const Sandbox::Session* session = owned.sandbox.session()) {
    epoll_event talk = talk_event(owned);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, session->setup.get(), &talk) != 0) {
      return fail(Error::from_errno("watch a session"));
    }
  }
  return {};
}

void SandboxWatch::remove(const Owned& owned) {
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, owned.sandbox.pidfd(), nullptr);
  if (const Sandbox::Session* session = owned.sandbox.session()) {
    (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, session->setup.get(), nullptr);
  }
}

void SandboxWatch::listen_again(Owned& owned) {
  const Sandbox::Session* session = owned.sandbox.session();
  if (session == nullptr) return;
  epoll_event talk = talk_event(owned);
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, session->setup.get(), &talk);
}

SandboxWatch::News SandboxWatch::take() {
  News news;
  epoll_event events[kMostAtOnce];
  const int count = ::epoll_wait(epoll_.get(), events, kMostAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[i].data.u64;
    auto* owned = reinterpret_cast<Owned*>(static_cast<std::uintptr_t>(key & ~kTalks));
    ((key & kTalks) != 0 ? news.talking : news.dead).push_back(owned);
  }
  return news;
}

}  // namespace glovebox::launcher
