#include "base/frame_link.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

namespace glovebox {
namespace {

constexpr std::byte kFirst{0xF5};
constexpr std::byte kLast{0xFA};
constexpr std::size_t kHead = 5;

bool is_seqpacket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

std::size_t length_in(const std::vector<std::byte>& head) {
  std::size_t length = 0;
  for (std::size_t i = 1; i < kHead; ++i) length |= std::size_t(head[i]) << (8 * (i - 1));
  return length;
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Result<SocketPair> byte_stream_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(Error::from_errno("socketpair"));
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

FrameLink::FrameLink(int fd, std::size_t max_bytes)
    : fd_(fd), max_bytes_(max_bytes), is_byte_stream_(!is_seqpacket(fd)) {}

// ---- sending -------------------------------------------------------------------------------

Result<> FrameLink::send(std::span<const std::byte> bytes, std::span<const int> fds) {
  if (!is_byte_stream_) return send_message(fd_, bytes, fds);
  if (!fds.empty()) return fail(Errc::kInternal, "a byte stream carries no descriptors");
  TRY_OK(flush());
  unsent_.reserve(kHead + bytes.size() + 1);
  unsent_.push_back(kFirst);
  for (std::size_t i = 0; i < kHead - 1; ++i) {
    unsent_.push_back(static_cast<std::byte>(bytes.size() >> (8 * i)));
  }
  append(unsent_, bytes);
  unsent_.push_back(kLast);
  const Result<> sent = flush();
  if (!sent && sent.error().sys_errno() != EAGAIN) return sent;
  return {};
}

Result<> FrameLink::flush() {
  while (at_ < unsent_.size()) {
    const ssize_t put = ::write(fd_, unsent_.data() + at_, unsent_.size() - at_);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(Error::from_errno("send a frame"));
    at_ += static_cast<std::size_t>(put);
  }
  unsent_ = {};
  at_ = 0;
  return {};
}

void FrameLink::flush_cut_frame() {
  if (!is_byte_stream_) return;
  unsent_.insert(unsent_.end(), kHead + max_bytes_ + 1, std::byte{0});
}

void FrameLink::send_mark(std::span<const std::byte> mark) {
  if (is_byte_stream_) append(unsent_, mark);
}

// ---- receiving -----------------------------------------------------------------------------

void FrameLink::seek(std::span<const std::byte> mark) {
  if (!is_byte_stream_) return;
  mark_.assign(mark.begin(), mark.end());
  received_.clear();
}

// Until received_ has `wanted` bytes, and never beyond.
Result<> FrameLink::receive_more(std::size_t wanted, bool& closed) {
  while (received_.size() < wanted) {
    const std::size_t before = received_.size();
    received_.resize(wanted);
    const ssize_t got = ::read(fd_, received_.data() + before, wanted - before);
    const int error = errno;
    received_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("receive a frame", error));
    if (got == 0) {
      closed = true;
      break;
    }
  }
  return {};
}

// False: closed before it came. received_ is a beginning of the mark, or empty. It never reads
// beyond the mark: as many bytes as are missing of it.
Result<bool> FrameLink::skip_to_mark() {
  while (!mark_.empty()) {
    bool closed = false;
    const std::size_t before = received_.size();
    const Result<> more = receive_more(mark_.size(), closed);
    if (closed) return false;
    if (!more && received_.size() == before) return fail(more.error());
    while (!std::equal(received_.begin(), received_.end(), mark_.begin())) {
      received_.erase(received_.begin());
    }
    if (received_.size() == mark_.size()) {
      mark_.clear();
      received_.clear();
    }
  }
  return true;
}

// Five at a time would be slow for as many as flush_cut_frame() sends. Only a socket can be looked
// into; elsewhere nothing is skipped here.
void FrameLink::skip_zeros() {
  std::byte bytes[4096];
  ssize_t zeros = 0;
  do {
    const ssize_t there = ::recv(fd_, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    std::byte* const end = bytes + std::max<ssize_t>(there, 0);
    zeros = std::find_if(bytes, end, [](std::byte one) { return one != std::byte{0}; }) - bytes;
  } while (zeros > 0 && ::read(fd_, bytes, static_cast<std::size_t>(zeros)) == zeros);
}

Result<Received> FrameLink::receive(std::size_t max_fds) {
  if (!is_byte_stream_) return receive_message(fd_, max_bytes_, max_fds);
  TRY(const bool is_there, skip_to_mark());
  if (!is_there) return Received{};
  bool closed = false;
  while (received_.size() < kHead) {
    TRY_OK(receive_more(kHead, closed));
    if (closed) return Received{};
    const auto first = std::find_if(received_.begin(), received_.end(),
                                    [](std::byte one) { return one != std::byte{0}; });
    received_.erase(received_.begin(), first);
    if (received_.empty()) skip_zeros();
    if (!received_.empty() && received_.front() != kFirst) {
      received_.erase(received_.begin());
      return fail(Errc::kProtocol, "bytes between frames");
    }
  }
  const std::size_t length = length_in(received_);
  if (length == 0 || length > max_bytes_) {
    received_.clear();
    return fail(Errc::kProtocol, "a frame of an impossible length");
  }
  TRY_OK(receive_more(kHead + length + 1, closed));
  if (closed) return Received{};
  // Moved, so that a link which is idle keeps no memory.
  Received received{std::exchange(received_, {}), {}, 0};
  if (received.bytes.back() != kLast) return fail(Errc::kProtocol, "a frame that was cut off");
  received.bytes.pop_back();
  received.bytes.erase(received.bytes.begin(), received.bytes.begin() + kHead);
  return received;
}

}  // namespace glovebox
