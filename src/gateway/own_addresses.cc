#include "gateway/own_addresses.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

namespace glovebox::gateway {
namespace {

struct Question {
  nlmsghdr header;
  rtmsg route;
  rtattr attribute;
  std::uint8_t address[16];
};

// Without a route connect() will fail.
bool is_nowhere(int error) {
  return error == ENETUNREACH || error == EHOSTUNREACH || error == EINVAL || error == EACCES ||
         error == EAFNOSUPPORT || error == EOPNOTSUPP;
}

}  // namespace

Result<OwnAddresses> OwnAddresses::open() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return fail(Error::from_errno("netlink socket"));
  // The kernel answers within sendto(); a missing answer must not block the gateway.
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return OwnAddresses(std::move(socket));
}

Result<OwnAddresses::Location> OwnAddresses::find(const net::IpAddress& address) {
  Question question{};
  question.header.nlmsg_type = RTM_GETROUTE;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.header.nlmsg_seq = ++sequence_;
  question.route.rtm_family = address.is_v4() ? AF_INET : AF_INET6;
  question.route.rtm_dst_len = static_cast<unsigned char>(address.size() * 8);
  question.attribute.rta_type = RTA_DST;
  question.attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(address.size()));
  std::memcpy(question.address, address.data(), address.size());
  question.header.nlmsg_len = static_cast<std::uint32_t>(offsetof(Question, attribute) +
                                                         RTA_ALIGN(question.attribute.rta_len));
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket_.get(), &question, question.header.nlmsg_len, 0,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0) {
    return fail(Error::from_errno("request a route"));
  }
  for (;;) {
    alignas(nlmsghdr) char answer[4096];
    sockaddr_nl sender{};
    socklen_t sender_size = sizeof sender;
    const ssize_t size = ::recvfrom(socket_.get(), answer, sizeof answer, 0,
                                    reinterpret_cast<sockaddr*>(&sender), &sender_size);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(Error::from_errno("read a route"));
    nlmsghdr header;
    if (static_cast<std::size_t>(size) < sizeof header || sender.nl_pid != 0) continue;
    std::memcpy(&header, answer, sizeof header);
    if (header.nlmsg_seq != sequence_) continue;  // to an earlier request
    if (header.nlmsg_type == NLMSG_ERROR) {
      nlmsgerr error{};
      std::memcpy(&error, answer + NLMSG_HDRLEN,
                  std::min(sizeof error, static_cast<std::size_t>(size) - NLMSG_HDRLEN));
      if (is_nowhere(-error.error)) return Location::kElsewhere;
      return fail(Error::from_errno("request a route", -error.error));
    }
    rtmsg route{};
    if (header.nlmsg_type != RTM_NEWROUTE ||
        static_cast<std::size_t>(size) < NLMSG_HDRLEN + sizeof route) {
      return fail(Errc::kProtocol, "malformed netlink answer about a route");
    }
    std::memcpy(&route, answer + NLMSG_HDRLEN, sizeof route);
    const bool leaves = route.rtm_type == RTN_UNICAST || route.rtm_type == RTN_UNREACHABLE ||
                        route.rtm_type == RTN_BLACKHOLE || route.rtm_type == RTN_PROHIBIT;
    return leaves ? Location::kElsewhere : Location::kOwn;
  }
}

}  // namespace glovebox::gateway
