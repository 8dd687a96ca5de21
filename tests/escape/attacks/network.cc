// Attacks on the network: the host's own services, addresses beyond, and the kernel's network
// families. Addresses are only ever served on a loopback; no packet leaves the machine.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/if_tun.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "toolbox.h"

namespace glovebox::attacks {
namespace {

Verdict connect_to(const sockaddr* address, socklen_t size, int type, const std::string& what) {
  const int fd = socket(address->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return denied_by_errno("socket", errno);
  int err = connect(fd, address, size) == 0 ? 0 : errno;
  if (err == EINPROGRESS) {
    pollfd poller{fd, POLLOUT, 0};
    socklen_t length = sizeof err;
    if (poll(&poller, 1, 1000) != 1) {
      err = ETIMEDOUT;
    } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) != 0) {
      err = errno;
    }
  }
  close(fd);
  if (err != 0) return denied_by_errno("connect " + what, err);
  return succeeded("connected to " + what);
}

Verdict connect_v4(const char* host, int port, int type) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host, &address.sin_addr);
  return connect_to(reinterpret_cast<sockaddr*>(&address), sizeof address, type,
                    std::string(host) + ":" + std::to_string(port));
}

Verdict connect_v6(const char* host, int port, int type) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET6, host, &address.sin6_addr);
  return connect_to(reinterpret_cast<sockaddr*>(&address), sizeof address, type,
                    std::string(host) + " port " + std::to_string(port));
}

Verdict host_port(const Args& args) {
  const long port = args.number("port", 0);
  if (port == 0) return not_tried("no port given");
  return connect_v4("127.0.0.1", static_cast<int>(port), SOCK_STREAM);
}

Verdict host_port_v6(const Args& args) {
  const long port = args.number("port6", 0);
  if (port == 0) return denied("no IPv6 loopback on the host", ENOSYS);
  return connect_v6("::1", static_cast<int>(port), SOCK_STREAM);
}

// 0.0.0.0 means "this host" to the kernel, which filters of addresses tend to forget.
Verdict host_port_any(const Args& args) {
  const long port = args.number("port", 0);
  if (port == 0) return not_tried("no port given");
  return connect_v4("0.0.0.0", static_cast<int>(port), SOCK_STREAM);
}

Verdict abstract_socket(const Args& args) {
  const std::string name = args.get("abstract");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 >= sizeof address.sun_path) return not_tried("no name given");
  memcpy(address.sun_path + 1, name.data(), name.size());
  return connect_to(reinterpret_cast<sockaddr*>(&address),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()),
                    SOCK_STREAM, "an abstract socket of the host");
}

constexpr const char* kMetadata = "169.254.169.254";
Verdict metadata(const Args&) { return connect_v4(kMetadata, 80, SOCK_STREAM); }
Verdict metadata_control(const Args& args) {
  return in_net_namespace([&] {
    if (!add_loopback_address(kMetadata)) return not_tried("add the address");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(80);
    inet_pton(AF_INET, kMetadata, &address.sin_addr);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(fd, 1) != 0) {
      return not_tried("listen");
    }
    return metadata(args);
  });
}

// Connecting a datagram socket sends nothing; it only asks whether there is a way there.
constexpr const char* kElsewhere = "192.0.2.1";
Verdict way_out(const Args&) { return connect_v4(kElsewhere, 53, SOCK_DGRAM); }
Verdict way_out_control(const Args& args) {
  return in_net_namespace([&] {
    if (!add_loopback_address(kElsewhere)) return not_tried("add the address");
    return way_out(args);
  });
}

Verdict way_out_v6(const Args&) { return connect_v6("2001:db8::1", 53, SOCK_DGRAM); }
Verdict way_out_v6_control(const Args& args) {
  return in_net_namespace([&] {
    struct {
      nlmsghdr head;
      ifaddrmsg address;
      rtattr attribute;
      in6_addr value;
    } message{};
    message.head = {sizeof message, RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0};
    message.address.ifa_family = AF_INET6;
    message.address.ifa_prefixlen = 128;
    message.address.ifa_flags = IFA_F_NODAD;
    message.address.ifa_index = if_nametoindex("lo");
    message.attribute = {RTA_LENGTH(sizeof(in6_addr)), IFA_ADDRESS};
    inet_pton(AF_INET6, "2001:db8::1", &message.value);
    const int answer = netlink_request(NETLINK_ROUTE, &message, sizeof message);
    if (answer != 0) return denied("no IPv6", ENOSYS);
    return way_out_v6(args);
  });
}

// Other interfaces than lo, with or without addresses.
Verdict interfaces(const Args&) {
  struct if_nameindex* names = if_nameindex();
  if (names == nullptr) return denied_by_errno("if_nameindex", errno);
  Verdict verdict = denied("lo is all there is");
  for (const struct if_nameindex* entry = names; entry->if_index != 0; ++entry) {
    // Tunnels that the kernel puts into every new namespace are down and lead nowhere.
    const std::string name = entry->if_name;
    if (name == "lo" || name == "sit0" || name == "tunl0" || name == "ip6tnl0" || name == "gre0" ||
        name == "gretap0" || name == "erspan0" || name == "ip_vti0" || name == "ip6_vti0" ||
        name == "ip6gre0") {
      continue;
    }
    verdict = succeeded("there is " + name);
  }
  if_freenameindex(names);
  return verdict;
}

Verdict tun_device(const Args&) {
  const int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  if (fd < 0) return denied_by_errno("open /dev/net/tun", errno);
  ifreq request{};
  strcpy(request.ifr_name, "gbxtun");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  return by_result("TUNSETIFF", ioctl(fd, TUNSETIFF, &request));
}
Verdict tun_device_control(const Args& args) {
  return in_net_namespace([&] { return tun_device(args); });
}

Verdict interfaces_control(const Args& args) {
  return in_net_namespace([&] {
    const Verdict made = tun_device(args);
    if (made.code != kSucceeded) return made;
    return interfaces(args);
  });
}

Verdict netlink_address(const Args&) {
  if (!add_loopback_address("10.199.199.1")) return denied_by_errno("RTM_NEWADDR", errno);
  return succeeded("added an address to lo");
}
Verdict netlink_address_control(const Args& args) {
  return in_net_namespace([&] { return netlink_address(args); });
}

Verdict netlink_route(const Args&) {
  struct {
    nlmsghdr head;
    rtmsg route;
    rtattr attribute;
    unsigned interface;
  } message{};
  message.head = {sizeof message, RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1, 0};
  message.route.rtm_family = AF_INET;
  message.route.rtm_table = RT_TABLE_MAIN;
  message.route.rtm_protocol = RTPROT_STATIC;
  message.route.rtm_scope = RT_SCOPE_LINK;
  message.route.rtm_type = RTN_UNICAST;
  message.attribute = {RTA_LENGTH(sizeof(unsigned)), RTA_OIF};
  message.interface = if_nametoindex("lo");
  const int answer = netlink_request(NETLINK_ROUTE, &message, sizeof message);
  if (answer != 0) return denied_by_errno("RTM_NEWROUTE", answer < 0 ? ETIMEDOUT : answer);
  return succeeded("added a default route");
}
Verdict netlink_route_control(const Args& args) {
  return in_net_namespace([&] { return netlink_route(args); });
}

Verdict netfilter(const Args&) {
  struct {
    nlmsghdr head;
    nfgenmsg body;
  } message{};
  message.head = {sizeof message, (NFNL_SUBSYS_NFTABLES << 8) | 1 /* get table */,
                  NLM_F_REQUEST | NLM_F_DUMP, 1, 0};
  message.body.nfgen_family = AF_INET;
  const int answer = netlink_request(NETLINK_NETFILTER, &message, sizeof message);
  if (answer != 0) return denied_by_errno("nftables", answer < 0 ? ETIMEDOUT : answer);
  return succeeded("nftables answers");
}
Verdict netfilter_control(const Args& args) {
  return in_net_namespace([&] { return netfilter(args); });
}

Verdict loopback_down(const Args&) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return denied_by_errno("socket", errno);
  ifreq request{};
  strcpy(request.ifr_name, "lo");
  return by_result("taking lo down", ioctl(fd, SIOCSIFFLAGS, &request));
}
Verdict loopback_down_control(const Args& args) {
  return in_net_namespace([&] { return loopback_down(args); });
}

Verdict by_socket(int family, int type, int protocol) {
  const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
  const Verdict verdict = by_result("socket", fd);
  if (fd >= 0) close(fd);
  return verdict;
}
template <int kFamily, int kType, int kProtocol>
Verdict a_socket(const Args&) {
  return by_socket(kFamily, kType, kProtocol);
}

Verdict ping_control(const Args& args) {
  return in_net_namespace([&] {
    write_file("/proc/sys/net/ipv4/ping_group_range", "0 0");
    return a_socket<AF_INET, SOCK_DGRAM, IPPROTO_ICMP>(args);
  });
}

// The kernel's own TLS. An unconnected socket is refused by it, which shows that it was reached.
Verdict kernel_tls(const Args&) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return denied_by_errno("socket", errno);
  constexpr int kUlp = 31;
  if (setsockopt(fd, IPPROTO_TCP, kUlp, "tls", 3) == 0 || errno == ENOTCONN) {
    return succeeded("the kernel's TLS answers");
  }
  return denied_by_errno("TCP_ULP", errno);
}

Verdict marked_packets(const Args&) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return denied_by_errno("socket", errno);
  const int mark = 1;
  return by_result("SO_MARK", setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark));
}

Verdict transparent(const Args&) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return denied_by_errno("socket", errno);
  const int yes = 1;
  return by_result("IP_TRANSPARENT", setsockopt(fd, SOL_IP, IP_TRANSPARENT, &yes, sizeof yes));
}

Verdict listed_sockets(const Args& args) {
  const std::string name = args.get("abstract");
  if (name.empty()) return not_tried("no name given");
  if (read_file("/proc/net/unix", 16 << 20).find("@" + name) == std::string::npos) {
    return denied("not in /proc/net/unix");
  }
  return succeeded("the host's sockets are listed in /proc/net/unix");
}

const char* const kNet = "network namespace";
const char* const kFamilies = "seccomp";
const Attack kAttacks[] = {
    {.name = "network_host_port",
     .aims_at = "a service on the host's 127.0.0.1",
     .held_by = kNet,
     .run = host_port,
     .needs = "listener"},
    {.name = "network_host_port_v6",
     .aims_at = "a service on the host's ::1",
     .held_by = kNet,
     .run = host_port_v6,
     .needs = "listener"},
    {.name = "network_host_port_any",
     .aims_at = "a service of the host by 0.0.0.0",
     .held_by = kNet,
     .run = host_port_any,
     .needs = "listener"},
    {.name = "network_abstract_socket",
     .aims_at = "an abstract Unix socket of the host",
     .held_by = kNet,
     .run = abstract_socket,
     .needs = "abstract"},
    {.name = "network_listed_sockets",
     .aims_at = "the list of the host's sockets",
     .held_by = kNet,
     .run = listed_sockets,
     .needs = "abstract"},
    {.name = "network_metadata",
     .aims_at = "the cloud's metadata service",
     .held_by = kNet,
     .run = metadata,
     .control = metadata_control},
    {.name = "network_way_out",
     .aims_at = "any address beyond",
     .held_by = kNet,
     .run = way_out,
     .control = way_out_control},
    {.name = "network_way_out_v6",
     .aims_at = "any IPv6 address beyond",
     .held_by = kNet,
     .run = way_out_v6,
     .control = way_out_v6_control},
    {.name = "network_interfaces",
     .aims_at = "interfaces other than lo",
     .held_by = kNet,
     .run = interfaces,
     .control = interfaces_control,
     .absent = ENOENT},
    {.name = "network_tun_device",
     .aims_at = "an interface of our own",
     .held_by = "minimal /dev, no capabilities",
     .run = tun_device,
     .control = tun_device_control,
     .absent = ENOENT},
    {.name = "network_add_address",
     .aims_at = "an address of our own",
     .held_by = "no capabilities",
     .run = netlink_address,
     .control = netlink_address_control},
    {.name = "network_add_route",
     .aims_at = "a route of our own",
     .held_by = "no capabilities",
     .run = netlink_route,
     .control = netlink_route_control},
    {.name = "network_nftables",
     .aims_at = "the packet filter",
     .held_by = "no capabilities",
     .run = netfilter,
     .control = netfilter_control,
     .absent = EPROTONOSUPPORT},
    {.name = "network_loopback_down",
     .aims_at = "taking the loopback down",
     .held_by = "no capabilities",
     .run = loopback_down,
     .control = loopback_down_control},
    {.name = "network_raw_socket",
     .aims_at = "packets made by hand",
     .held_by = "no capabilities, seccomp",
     .run = a_socket<AF_INET, SOCK_RAW, IPPROTO_ICMP>},
    {.name = "network_raw_socket_v6",
     .aims_at = "IPv6 packets made by hand",
     .held_by = "no capabilities, seccomp",
     .run = a_socket<AF_INET6, SOCK_RAW, IPPROTO_ICMPV6>,
     .absent = EAFNOSUPPORT},
    {.name = "network_packet_socket",
     .aims_at = "all packets of an interface",
     .held_by = kFamilies,
     .run = a_socket<AF_PACKET, SOCK_RAW, 0x0300>,
     .absent = EAFNOSUPPORT},
    {.name = "network_ping_socket",
     .aims_at = "echo requests",
     .held_by = "network namespace",
     .run = a_socket<AF_INET, SOCK_DGRAM, IPPROTO_ICMP>,
     .control = ping_control},
    {.name = "network_vsock",
     .aims_at = "the hypervisor and its other guests",
     .held_by = kFamilies,
     .run = a_socket<AF_VSOCK, SOCK_STREAM, 0>,
     .absent = EAFNOSUPPORT},
    {.name = "network_af_alg",
     .aims_at = "the kernel's ciphers",
     .held_by = kFamilies,
     .run = a_socket<AF_ALG, SOCK_SEQPACKET, 0>,
     .absent = EAFNOSUPPORT},
    {.name = "network_bluetooth",
     .aims_at = "bluetooth",
     .held_by = kFamilies,
     .run = a_socket<AF_BLUETOOTH, SOCK_RAW, 1>,
     .absent = EAFNOSUPPORT},
    {.name = "network_can",
     .aims_at = "the CAN bus",
     .held_by = kFamilies,
     .run = a_socket<AF_CAN, SOCK_RAW, 1>,
     .absent = EAFNOSUPPORT},
    {.name = "network_xdp",
     .aims_at = "packets past the network stack",
     .held_by = kFamilies,
     .run = a_socket<AF_XDP, SOCK_RAW, 0>,
     .absent = EAFNOSUPPORT},
    {.name = "network_key_socket",
     .aims_at = "IPsec keys",
     .held_by = kFamilies,
     .run = a_socket<AF_KEY, SOCK_RAW, 2>,
     .absent = EAFNOSUPPORT},
    {.name = "network_tipc",
     .aims_at = "the TIPC family",
     .held_by = kFamilies,
     .run = a_socket<AF_TIPC, SOCK_RDM, 0>,
     .absent = EAFNOSUPPORT},
    {.name = "network_audit",
     .aims_at = "the kernel's audit",
     .held_by = kFamilies,
     .run = a_socket<AF_NETLINK, SOCK_RAW, NETLINK_AUDIT>,
     .absent = EPROTONOSUPPORT},
    {.name = "network_device_events",
     .aims_at = "the host's device events",
     .held_by = kFamilies,
     .run = a_socket<AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT>,
     .absent = EPROTONOSUPPORT},
    {.name = "network_seqpacket",
     .aims_at = "SCTP by the type of a socket",
     .held_by = kFamilies,
     .run = a_socket<AF_INET, SOCK_SEQPACKET, 0>,
     .absent = ESOCKTNOSUPPORT},
    {.name = "network_udp_lite",
     .aims_at = "the UDP-Lite protocol",
     .held_by = kFamilies,
     .run = a_socket<AF_INET, SOCK_DGRAM, 136>,
     .absent = EPROTONOSUPPORT},
    {.name = "network_mptcp",
     .aims_at = "TCP over several paths",
     .held_by = kFamilies,
     .run = a_socket<AF_INET, SOCK_STREAM, 262>,
     .absent = EPROTONOSUPPORT},
    {.name = "network_kernel_tls",
     .aims_at = "the kernel's TLS",
     .held_by = kFamilies,
     .run = kernel_tls,
     .absent = ENOENT},
    {.name = "network_mark",
     .aims_at = "marks that steer routing",
     .held_by = "no capabilities",
     .run = marked_packets},
    {.name = "network_transparent",
     .aims_at = "speaking for other addresses",
     .held_by = "no capabilities",
     .run = transparent},
};

}  // namespace

Group network_attacks() { return {"network", kAttacks}; }

}  // namespace glovebox::attacks
