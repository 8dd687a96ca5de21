// The little internet that attacks on the way out are tried against: a machine (BOX) with a public
// address and a default route in one network namespace, and behind a wire another (NET), in which
// every address is its own. Neither has a way anywhere else: no packet leaves this computer. Both
// go with their processes.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "egress.h"
#include "toolbox.h"

namespace glovebox::attacks {
namespace {

// One netlink message, put together piece by piece.
class NetlinkMessage {
 public:
  template <class Body>
  NetlinkMessage(std::uint16_t type, const Body& body) {
    nlmsghdr head{};
    head.nlmsg_type = type;
    head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    bytes_.assign(reinterpret_cast<const char*>(&head), sizeof head);
    add_struct(body);
  }
  template <class Body>
  void add_struct(const Body& body) {
    bytes_.append(reinterpret_cast<const char*>(&body), sizeof body);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  void add(std::uint16_t kind, const void* data, std::size_t size) {
    const rtattr head{static_cast<std::uint16_t>(RTA_LENGTH(size)), kind};
    bytes_.append(reinterpret_cast<const char*>(&head), sizeof head);
    bytes_.append(static_cast<const char*>(data), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  std::size_t open(std::uint16_t kind) {
    const std::size_t at = bytes_.size();
    add(kind, nullptr, 0);
    return at;
  }
  void close(std::size_t at) {
    reinterpret_cast<rtattr*>(bytes_.data() + at)->rta_len =
        static_cast<std::uint16_t>(bytes_.size() - at);
  }
  bool send() {
    reinterpret_cast<nlmsghdr*>(bytes_.data())->nlmsg_len =
        static_cast<std::uint32_t>(bytes_.size());
    const int answer = netlink_request(NETLINK_ROUTE, bytes_.data(), bytes_.size());
    errno = answer < 0 ? ETIMEDOUT : answer;
    return answer == 0;
  }

 private:
  std::string bytes_;
};

struct Place {
  std::uint8_t family = AF_INET;
  unsigned char bytes[16] = {};
  std::size_t size() const { return family == AF_INET ? 4 : 16; }
};

Place place_of(const char* text) {
  Place place;
  if (inet_pton(AF_INET, text, place.bytes) == 1) return place;
  place.family = AF_INET6;
  inet_pton(AF_INET6, text, place.bytes);
  return place;
}

bool add_wire(pid_t other) {
  NetlinkMessage message(RTM_NEWLINK, ifinfomsg{});
  message.add(IFLA_IFNAME, "box0", 5);
  const std::size_t info = message.open(IFLA_LINKINFO);
  message.add(IFLA_INFO_KIND, "veth", 4);
  const std::size_t data = message.open(IFLA_INFO_DATA);
  const std::size_t peer = message.open(VETH_INFO_PEER);
  message.add_struct(ifinfomsg{});
  message.add(IFLA_IFNAME, "net0", 5);
  message.add(IFLA_NET_NS_PID, &other, sizeof other);
  message.close(peer);
  message.close(data);
  message.close(info);
  return message.send();
}

bool add_address(const char* device, const char* address, std::uint8_t prefix) {
  const Place place = place_of(address);
  ifaddrmsg body{};
  body.ifa_family = place.family;
  body.ifa_prefixlen = prefix;
  body.ifa_flags = place.family == AF_INET6 ? IFA_F_NODAD : 0;
  body.ifa_index = if_nametoindex(device);
  NetlinkMessage message(RTM_NEWADDR, body);
  message.add(IFA_LOCAL, place.bytes, place.size());
  message.add(IFA_ADDRESS, place.bytes, place.size());
  return message.send();
}

// A default route by a gateway, or without one to ourselves: then every address is ours.
bool add_default_route(std::uint8_t family, const char* device, const char* gateway) {
  rtmsg body{};
  body.rtm_family = family;
  body.rtm_table = RT_TABLE_MAIN;  // not the local one: the wire's own routes must come first
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = gateway == nullptr ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
  body.rtm_type = gateway == nullptr ? RTN_LOCAL : RTN_UNICAST;
  NetlinkMessage message(RTM_NEWROUTE, body);
  const unsigned index = if_nametoindex(device);
  message.add(RTA_OIF, &index, sizeof index);
  if (gateway != nullptr) {
    const Place place = place_of(gateway);
    message.add(RTA_GATEWAY, place.bytes, place.size());
  }
  return message.send();
}

bool bring_up(const char* device) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  strcpy(request.ifr_name, device);
  request.ifr_flags = IFF_UP;
  const bool done = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return done;
}

// --- what listens --------------------------------------------------------------------------------

int listening(std::uint16_t port, int type) {
  const int fd = socket(AF_INET6, type | SOCK_CLOEXEC, 0);
  const int yes = 1;
  const int no = 0;
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // Answers come from the address that was asked, whichever it was.
  setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof yes);
  setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &yes, sizeof yes);
  setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &yes, sizeof yes);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      (type == SOCK_STREAM && listen(fd, 128) != 0)) {
    close(fd);
    return -1;
  }
  return fd;
}

std::string where_reached(int fd, std::uint16_t& port) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
  port = ntohs(address.sin6_port);
  const std::string name = text;
  return name.rfind("::ffff:", 0) == 0 ? name.substr(7) : name;
}

std::string some_bytes(int fd) {
  pollfd poller{fd, POLLIN, 0};
  if (poll(&poller, 1, 10000) != 1) return "";
  char buffer[65536];
  const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
  return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : "";
}

// In a process of its own, for at most a few seconds.
void answer_connection(int fd) {
  std::uint16_t port = 0;
  std::string said = "reached " + where_reached(fd, port);
  said += " " + std::to_string(port);
  if (port == kDnsPort) {
    const std::string query = some_bytes(fd);
    said = query.size() > 2 ? dns_answer(query.substr(2)) : "";
    const auto size = static_cast<std::uint16_t>(htons(static_cast<std::uint16_t>(said.size())));
    said.insert(0, reinterpret_cast<const char*>(&size), 2);
  } else if (port == kSinkPort) {
    std::size_t count = 0;
    for (std::string more; !(more = some_bytes(fd)).empty();) count += more.size();
    said += " bytes " + std::to_string(count) + "\n";
  } else {
    if (port == 443 || port == 8443) {
      if (some_bytes(fd).empty()) return;
    }
    said += "\n";
  }
  (void)!send(fd, said.data(), said.size(), MSG_NOSIGNAL);
  shutdown(fd, SHUT_WR);
  some_bytes(fd);
}

void answer_datagram(int fd, bool is_dns) {
  char buffer[4096];
  alignas(cmsghdr) char control[256];
  sockaddr_storage from{};
  iovec piece{buffer, sizeof buffer};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = recvmsg(fd, &message, MSG_DONTWAIT);
  if (count <= 0) return;
  std::string answer(buffer, static_cast<std::size_t>(count));
  if (is_dns) answer = dns_answer(answer);
  if (answer.empty()) return;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    // The interface that it came by is not where the answer's source address lives.
    if (part->cmsg_type == IPV6_PKTINFO) {
      reinterpret_cast<in6_pktinfo*>(CMSG_DATA(part))->ipi6_ifindex = 0;
    }
  }
  piece = {answer.data(), answer.size()};
  sendmsg(fd, &message, 0);
}

// What a machine of this internet listens at. Opened before the machine is reported as ready:
// a question that came earlier would be refused.
struct Listeners {
  std::vector<int> streams;
  std::vector<int> datagrams;
  int dns = -1;  // one of `datagrams`
};

void listen_to_streams(Listeners& listeners, const std::vector<std::uint16_t>& ports) {
  for (const std::uint16_t port : ports) listeners.streams.push_back(listening(port, SOCK_STREAM));
}

void listen_to_datagrams(Listeners& listeners, const std::vector<std::uint16_t>& ports) {
  for (const std::uint16_t port : ports) {
    listeners.datagrams.push_back(listening(port, SOCK_DGRAM));
    if (port == kDnsPort) listeners.dns = listeners.datagrams.back();
  }
}

// Until `lifeline` ends.
[[noreturn]] void serve(const Listeners& listeners, int lifeline) {
  std::vector<pollfd> pollers{{lifeline, POLLIN, 0}};
  for (const int fd : listeners.streams) pollers.push_back({fd, POLLIN, 0});
  for (const int fd : listeners.datagrams) pollers.push_back({fd, POLLIN, 0});
  signal(SIGCHLD, SIG_IGN);
  for (;;) {
    if (poll(pollers.data(), pollers.size(), -1) < 0 && errno != EINTR) _exit(1);
    if (pollers[0].revents != 0) _exit(0);
    for (std::size_t at = 1; at < pollers.size(); ++at) {
      if ((pollers[at].revents & POLLIN) == 0) continue;
      if (at > listeners.streams.size()) {
        answer_datagram(pollers[at].fd, pollers[at].fd == listeners.dns);
        continue;
      }
      const int fd = accept4(pollers[at].fd, nullptr, nullptr, SOCK_CLOEXEC);
      const pid_t parent = getpid();
      if (fd >= 0 && fork() == 0) {
        end_with_parent(parent);
        answer_connection(fd);
        _exit(0);
      }
      close(fd);
    }
  }
}

int failed(const char* what) {
  fprintf(stderr, "make a network to attack: %s: %s\n", what, strerror(errno));
  return kNotTried;
}

// Who is not root is in a user namespace of its own; its uid stays what it is.
bool may_make_networks() {
  if (geteuid() == 0) return true;
  const std::string uid = std::to_string(getuid());
  const std::string gid = std::to_string(getgid());
  if (unshare(CLONE_NEWUSER) != 0) return false;
  write_file("/proc/self/setgroups", "deny");
  return write_file("/proc/self/uid_map", uid + " " + uid + " 1") &&
         write_file("/proc/self/gid_map", gid + " " + gid + " 1");
}

[[noreturn]] void be_the_internet(int ready, int go, pid_t parent) {
  end_with_parent(parent);
  char byte = 'n';
  // Up before anything binds: without a route an address counts as a broadcast's.
  if (unshare(CLONE_NEWNET) != 0 || !bring_up("lo")) _exit(failed("a second network namespace"));
  if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1) _exit(1);
  if (!add_address("net0", kGate4, 24) || !bring_up("net0") || !add_address("net0", kGate6, 64) ||
      !add_default_route(AF_INET, "lo", nullptr) || !add_default_route(AF_INET6, "lo", nullptr)) {
    _exit(failed("addresses of the internet"));
  }
  std::vector<std::uint16_t> streams(std::begin(kPorts), std::end(kPorts));
  streams.insert(streams.end(), {kDnsPort, kSinkPort});
  std::vector<std::uint16_t> datagrams(std::begin(kUdpPorts), std::end(kUdpPorts));
  datagrams.push_back(kDnsPort);
  Listeners listeners;
  listen_to_streams(listeners, streams);
  listen_to_datagrams(listeners, datagrams);
  if (write(ready, &byte, 1) != 1) _exit(1);
  serve(listeners, go);
}

}  // namespace

int run_internet() {
  int ready[2];
  int go[2];
  if (!may_make_networks()) return failed("a user namespace");
  if (unshare(CLONE_NEWNET) != 0) return failed("a network namespace");
  if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(go, O_CLOEXEC) != 0) return failed("pipe");
  const pid_t parent = getpid();
  const pid_t internet = fork();
  if (internet < 0) return failed("fork");
  if (internet == 0) {
    close(go[1]);
    close(ready[0]);
    be_the_internet(ready[1], go[0], parent);
  }
  close(ready[1]);
  char byte = 0;
  if (read(ready[0], &byte, 1) != 1) return kNotTried;
  if (!bring_up("lo") || !add_wire(internet)) return failed("a wire (veth)");
  if (!add_address("box0", kBox4, 24) || !bring_up("box0") || !add_address("box0", kBox6, 64) ||
      !add_default_route(AF_INET, "box0", kGate4) || !add_default_route(AF_INET6, "box0", kGate6)) {
    return failed("addresses of the machine");
  }
  if (write(go[1], "g", 1) != 1 || read(ready[0], &byte, 1) != 1) return kNotTried;
  Listeners listeners;
  listen_to_streams(listeners, {kBoxPort});
  printf("box=%d\n", getpid());
  fflush(stdout);
  serve(listeners, 0);
}

int join_and_run(int argc, char** argv) {
  if (argc < 5 || strcmp(argv[3], "--") != 0) return 2;
  const std::string ns = std::string("/proc/") + argv[2] + "/ns/";
  struct Joined {
    const char* name;
    int type;
  };
  for (const Joined& one : {Joined{"user", CLONE_NEWUSER}, Joined{"net", CLONE_NEWNET}}) {
    const int fd = open((ns + one.name).c_str(), O_RDONLY | O_CLOEXEC);
    // Root's world is in root's own user namespace, which cannot be joined again.
    if (fd < 0 || (setns(fd, one.type) != 0 && !(one.type == CLONE_NEWUSER && errno == EINVAL))) {
      return failed(one.name);
    }
    close(fd);
  }
  execv(argv[4], argv + 4);
  return failed(argv[4]);
}

}  // namespace glovebox::attacks
