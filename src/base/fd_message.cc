#include "base/fd_message.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace glovebox {

Result<SocketPair> seqpacket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(Error::from_errno("socketpair"));
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<> send_message(int socket, std::span<const std::byte> bytes, std::span<const int> fds) {
  if (fds.size() > kMaxPassedFds) return fail(Errc::kInternal, "too many descriptors in a message");
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPassedFds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t sent = -1;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return fail(Error::from_errno("send message"));
  return {};
}

Result<Received> receive_message(int socket, std::size_t max_bytes, std::size_t max_fds) {
  // How long it is, first: most messages are short, and a buffer of the longest would be touched
  // page by page each time.
  ssize_t size = -1;
  do {
    size = ::recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return fail(Error::from_errno("receive message"));
  Received received;
  received.bytes.resize(std::min(static_cast<std::size_t>(size), max_bytes));
  iovec part{received.bytes.data(), received.bytes.size()};
  alignas(
      cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPassedFds) + CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail(Error::from_errno("receive message"));
  // First take ownership of every descriptor, then judge: an early return must not leak one.
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_RIGHTS) {
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
        // The sender of a TCP socket may have set SO_LINGER, and our close() would wait for
        // that.
        const linger at_once{.l_onoff = 0, .l_linger = 0};
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        received.fds.emplace_back(fd);
      }
    } else if (header->cmsg_type == SCM_CREDENTIALS) {
      ucred who{};
      std::memcpy(&who, CMSG_DATA(header), sizeof who);
      received.sender_pid = who.pid;
    }
  }
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || received.fds.size() > max_fds) {
    return fail(Errc::kProtocol, "a message is longer than its kind allows");
  }
  received.bytes.resize(static_cast<std::size_t>(got));
  return received;
}

}  // namespace glovebox
