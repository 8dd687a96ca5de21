#include "gateway/relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

namespace glovebox::gateway {
namespace {

constexpr unsigned kSpliceFlags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

bool has_something(int socket) {
  int bytes = 0;
  return ::ioctl(socket, FIONREAD, &bytes) == 0 && bytes > 0;
}

// For relays without a pipe. Used by one thread; nothing stays in it.
std::array<char, 64 * 1024>& scratch() {
  static std::array<char, 64 * 1024> bytes;
  return bytes;
}

}  // namespace

void reset_at_close(int socket, bool at_close) {
  const linger how{.l_onoff = at_close ? 1 : 0, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &how, sizeof how);
}

Relay::Relay(RelayId id, UniqueFd guest, UniqueFd server, RelayOwner& owner, PipePool& pipes)
    : id_(id), guest_(std::move(guest)), server_(std::move(server)), owner_(owner), pipes_(pipes) {
  out_.from = in_.to = guest_.get();
  out_.to = in_.from = server_.get();
  out_.is_out = true;
}

Relay::~Relay() {
  give_back(out_);
  give_back(in_);
}

void Relay::note(Side side, std::uint32_t events) {
  Half& reads = side == Side::kGuest ? out_ : in_;
  Half& writes = side == Side::kGuest ? in_ : out_;
  // After an error or a hang-up both read and write have something to report.
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) reads.readable = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) writes.writable = true;
  if ((events & EPOLLERR) != 0) is_broken_ = true;
}

Relay::Progress Relay::transfer(std::size_t max_bytes) {
  moved_ = 0;
  out_.left = in_.left = max_bytes;
  const Moved out = pump(out_);
  const Moved in = pump(in_);
  if (out == Moved::kOverBudget) return end_over_budget();
  if (out == Moved::kBroken || in == Moved::kBroken) {
    reset();
    return Progress::kEnded;
  }
  if (out_.done && in_.done) return Progress::kEnded;
  if (out == Moved::kQuotaUsed || in == Moved::kQuotaUsed) return Progress::kMore;
  // What arrived before the reset was passed on as far as the other side took it.
  if (is_broken_) {
    reset();
    return Progress::kEnded;
  }
  return Progress::kWaits;
}

void Relay::reset() {
  reset_at_close(guest_.get());
  reset_at_close(server_.get());
}

void Relay::flush() {
  out_.left = kMaxBytes;
  out_.readable = out_.writable = true;  // whatever the last event was
  (void)pump(out_);
  // Data that the server does not take would stay in the kernel without a purpose.
  const bool took_all = out_.held == 0 && out_.writable;
  if (!took_all) return reset();
  reset_at_close(guest_.get());
  bound_unsent_data();
}

void Relay::bound_unsent_data() {
  const unsigned patience_ms = 20'000;
  for (const int socket : {guest_.get(), server_.get()}) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
  }
}

// The guest is reset at once; what it was allowed to send still arrives.
Relay::Progress Relay::end_over_budget() {
  reset_at_close(guest_.get());
  return Progress::kOverBudget;
}

Relay::Moved Relay::pump(Half& half) {
  while (!half.done) {
    if (half.held > 0) {
      if (!half.writable) return Moved::kBlocked;
      if (const Moved moved = drain(half); moved != Moved::kQuotaUsed) return moved;
      continue;
    }
    if (half.ended) {
      // ENOTCONN: it was reset meanwhile; the next event reports that.
      ::shutdown(half.to, SHUT_WR);
      half.done = true;
      break;
    }
    // Nothing is read from one side before the other can take it.
    if (!half.readable || !half.writable) return Moved::kBlocked;
    if (half.left == 0) return Moved::kQuotaUsed;
    std::size_t most = std::min(half.left, kChunkBytes);
    if (half.is_out) {
      most = static_cast<std::size_t>(std::min<std::uint64_t>(most, owner_.bytes_left()));
    }
    const Moved moved = take_pipe(half) ? fill(half, most) : copy(half, most);
    if (moved != Moved::kQuotaUsed) return moved;
  }
  return Moved::kBlocked;
}

// kQuotaUsed: continue.
Relay::Moved Relay::drain(Half& half) {
  const ssize_t sent =
      ::splice(half.pipe.read.get(), nullptr, half.to, nullptr, half.held, kSpliceFlags);
  if (sent > 0) {
    half.held -= static_cast<std::size_t>(sent);
    return Moved::kQuotaUsed;
  }
  if (sent < 0 && errno == EINTR) return Moved::kQuotaUsed;
  if (sent == 0 || !would_block()) return Moved::kBroken;
  half.writable = false;
  return Moved::kBlocked;
}

Relay::Moved Relay::fill(Half& half, std::size_t most) {
  ssize_t got = 0;
  if (most == 0) {
    // The budget is spent: the end of the stream is passed on, anything else is over budget.
    char byte;
    got = ::recv(half.from, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return Moved::kOverBudget;
  } else {
    got = ::splice(half.from, nullptr, half.pipe.write.get(), nullptr, most, kSpliceFlags);
  }
  if (got > 0) {
    half.held = static_cast<std::size_t>(got);
    count(half, half.held);
    return Moved::kQuotaUsed;
  }
  if (got < 0 && errno == EINTR) return Moved::kQuotaUsed;
  const bool blocked = got < 0 && would_block();
  give_back(half);
  // splice() stops at urgent data (MSG_OOB), which is treated as ordinary data here; if the end of
  // the stream follows, it reports the end.
  if ((blocked || got == 0) && has_something(half.from)) return copy(half, most);
  if (got == 0) {
    half.ended = true;
    return Moved::kQuotaUsed;
  }
  if (!blocked) return Moved::kBroken;
  half.readable = false;
  return Moved::kBlocked;
}

// Peeked, sent, and only then consumed: what the other side does not take stays in the socket.
Relay::Moved Relay::copy(Half& half, std::size_t most) {
  auto& bytes = scratch();
  const std::size_t size = std::min(bytes.size(), std::max<std::size_t>(most, 1));
  const ssize_t seen = ::recv(half.from, bytes.data(), size, MSG_PEEK | MSG_DONTWAIT);
  if (seen == 0) {
    half.ended = true;
    return Moved::kQuotaUsed;
  }
  if (seen < 0) {
    if (errno == EINTR) return Moved::kQuotaUsed;
    if (!would_block()) return Moved::kBroken;
    half.readable = false;
    return Moved::kBlocked;
  }
  if (most == 0) return Moved::kOverBudget;
  const ssize_t sent =
      ::send(half.to, bytes.data(), static_cast<std::size_t>(seen), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) {
    if (errno == EINTR) return Moved::kQuotaUsed;
    if (!would_block()) return Moved::kBroken;
    half.writable = false;
    return Moved::kBlocked;
  }
  const auto taken = static_cast<std::size_t>(sent);
  if (::recv(half.from, bytes.data(), taken, MSG_TRUNC | MSG_DONTWAIT) != sent) {
    return Moved::kBroken;  // else it would be sent twice
  }
  count(half, taken);
  return Moved::kQuotaUsed;
}

bool Relay::take_pipe(Half& half) {
  if (half.pipe) return true;
  if (owner_.pipes_held >= kMaxPipesOfOwner) return false;
  half.pipe = pipes_.take();
  if (!half.pipe) return false;
  ++owner_.pipes_held;
  return true;
}

void Relay::give_back(Half& half) {
  if (!half.pipe) return;
  pipes_.give_back(std::move(half.pipe), half.held == 0);
  half.pipe = {};
  --owner_.pipes_held;
}

void Relay::count(Half& half, std::size_t bytes) {
  half.left -= std::min(half.left, bytes);
  moved_ += bytes;
  owner_.on_moved(id_, half.is_out ? bytes : 0, half.is_out ? 0 : bytes);
}

}  // namespace glovebox::gateway
