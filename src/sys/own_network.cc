#include "sys/own_network.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>

#include "sys/netlink.h"

namespace glovebox::sys {
namespace {

constexpr const char* kOwnV4 = "100.64.0.1";
constexpr const char* kOwnV6 = "fd00:67:62::1";
constexpr std::uint32_t kLoopback = 1;  // the index of lo in every namespace
constexpr std::uint16_t kListenPort = 1;
constexpr std::uint16_t kNamePort = 53;
constexpr int kBacklog = 1024;
constexpr std::uint64_t kConnectionsPerSecond = 200;
constexpr std::uint32_t kConnectionsAtOnce = 1500;
constexpr const char* kTable = "glovebox";
constexpr const char* kChain = "out";

struct OwnAddresses {
  in_addr v4{};
  in6_addr v6{};
  in_addr names{};
};
OwnAddresses own_addresses() {
  OwnAddresses own;
  ::inet_pton(AF_INET, kOwnV4, &own.v4);
  ::inet_pton(AF_INET6, kOwnV6, &own.v6);
  ::inet_pton(AF_INET, kNameServer, &own.names);
  return own;
}

Result<> add_addresses(const OwnAddresses& own) {
  NetlinkBatch batch;
  const ifaddrmsg v4{AF_INET, 32, 0, RT_SCOPE_UNIVERSE, kLoopback};
  NetlinkAttributes of_v4;
  of_v4.bytes(IFA_LOCAL, &own.v4, sizeof own.v4);
  of_v4.bytes(IFA_ADDRESS, &own.v4, sizeof own.v4);
  batch.add(RTM_NEWADDR, NLM_F_CREATE, &v4, sizeof v4, of_v4);
  const ifaddrmsg v6{AF_INET6, 128, IFA_F_NODAD, RT_SCOPE_UNIVERSE, kLoopback};
  NetlinkAttributes of_v6;
  of_v6.bytes(IFA_LOCAL, &own.v6, sizeof own.v6);
  of_v6.bytes(IFA_ADDRESS, &own.v6, sizeof own.v6);
  batch.add(RTM_NEWADDR, NLM_F_CREATE, &v6, sizeof v6, of_v6);
  batch.want_answer();
  return batch.send(NETLINK_ROUTE, "add an address to loopback");
}

// One rule of the chain: its expressions, in their order.
class Rule {
 public:
  Rule& family(std::uint8_t nfproto) { return meta(NFT_META_NFPROTO).equals(&nfproto, 1); }
  Rule& protocol(std::uint8_t number) { return meta(NFT_META_L4PROTO).equals(&number, 1); }
  Rule& network_bytes(std::uint32_t at, const void* value, std::uint32_t size) {
    return payload(NFT_PAYLOAD_NETWORK_HEADER, at, size).equals(value, size);
  }
  Rule& destination_port(std::uint16_t port) {
    const std::uint16_t number = htons(port);
    return payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2).equals(&number, 2);
  }
  // A TCP packet that asks for a connection.
  Rule& is_new() {
    const std::uint8_t mask = TH_SYN | TH_ACK | TH_RST | TH_FIN;
    const std::uint8_t none = 0;
    payload(NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1);
    NetlinkAttributes bitwise;
    bitwise.be32(NFTA_BITWISE_SREG, NFT_REG_1);
    bitwise.be32(NFTA_BITWISE_DREG, NFT_REG_1);
    bitwise.be32(NFTA_BITWISE_LEN, 1);
    bitwise.nested(NFTA_BITWISE_MASK, value(&mask, 1));
    bitwise.nested(NFTA_BITWISE_XOR, value(&none, 1));
    add("bitwise", bitwise);
    const std::uint8_t syn = TH_SYN;
    return equals(&syn, 1);
  }
  Rule& beyond(std::uint64_t per_second, std::uint32_t burst) {
    NetlinkAttributes limit;
    limit.be64(NFTA_LIMIT_RATE, per_second);
    limit.be64(NFTA_LIMIT_UNIT, 1);
    limit.be32(NFTA_LIMIT_BURST, burst);
    limit.be32(NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
    limit.be32(NFTA_LIMIT_FLAGS, NFT_LIMIT_F_INV);
    return add("limit", limit);
  }
  // To the socket that listens there, if `address` is given to exactly that one.
  Rule& to_socket(std::uint16_t port, const in_addr* address = nullptr) {
    const std::uint16_t number = htons(port);
    load(NFT_REG_1, &number, sizeof number);
    if (address != nullptr) load(NFT_REG_2, address, sizeof *address);
    NetlinkAttributes tproxy;
    tproxy.be32(NFTA_TPROXY_FAMILY, address != nullptr ? NFPROTO_IPV4 : NFPROTO_UNSPEC);
    if (address != nullptr) tproxy.be32(NFTA_TPROXY_REG_ADDR, NFT_REG_2);
    tproxy.be32(NFTA_TPROXY_REG_PORT, NFT_REG_1);
    return add("tproxy", tproxy);
  }
  Rule& accept() {
    NetlinkAttributes code;
    code.be32(NFTA_VERDICT_CODE, NF_ACCEPT);
    NetlinkAttributes verdict;
    verdict.nested(NFTA_DATA_VERDICT, code);
    NetlinkAttributes immediate;
    immediate.be32(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    immediate.nested(NFTA_IMMEDIATE_DATA, verdict);
    return add("immediate", immediate);
  }
  Rule& reset() {
    NetlinkAttributes reject;
    reject.be32(NFTA_REJECT_TYPE, NFT_REJECT_TCP_RST);
    return add("reject", reject);
  }
  Rule& refuse(std::uint8_t icmpx_code) {
    NetlinkAttributes reject;
    reject.be32(NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
    reject.bytes(NFTA_REJECT_ICMP_CODE, &icmpx_code, sizeof icmpx_code);
    return add("reject", reject);
  }
  const NetlinkAttributes& expressions() const { return expressions_; }

 private:
  static NetlinkAttributes value(const void* bytes, std::size_t size) {
    NetlinkAttributes data;
    data.bytes(NFTA_DATA_VALUE, bytes, size);
    return data;
  }
  Rule& add(const char* name, const NetlinkAttributes& data) {
    NetlinkAttributes expression;
    expression.text(NFTA_EXPR_NAME, name);
    expression.nested(NFTA_EXPR_DATA, data);
    expressions_.nested(NFTA_LIST_ELEM, expression);
    return *this;
  }
  Rule& meta(std::uint32_t key) {
    NetlinkAttributes meta;
    meta.be32(NFTA_META_KEY, key);
    meta.be32(NFTA_META_DREG, NFT_REG_1);
    return add("meta", meta);
  }
  Rule& payload(std::uint32_t base, std::uint32_t at, std::uint32_t size) {
    NetlinkAttributes payload;
    payload.be32(NFTA_PAYLOAD_DREG, NFT_REG_1);
    payload.be32(NFTA_PAYLOAD_BASE, base);
    payload.be32(NFTA_PAYLOAD_OFFSET, at);
    payload.be32(NFTA_PAYLOAD_LEN, size);
    return add("payload", payload);
  }
  Rule& equals(const void* bytes, std::size_t size) {
    NetlinkAttributes compare;
    compare.be32(NFTA_CMP_SREG, NFT_REG_1);
    compare.be32(NFTA_CMP_OP, NFT_CMP_EQ);
    compare.nested(NFTA_CMP_DATA, value(bytes, size));
    return add("cmp", compare);
  }
  Rule& load(std::uint32_t reg, const void* bytes, std::size_t size) {
    NetlinkAttributes immediate;
    immediate.be32(NFTA_IMMEDIATE_DREG, reg);
    immediate.nested(NFTA_IMMEDIATE_DATA, value(bytes, size));
    return add("immediate", immediate);
  }

  NetlinkAttributes expressions_;
};

// Where headers have the destination.
constexpr std::uint32_t kV4Destination = 16;
constexpr std::uint32_t kV6Destination = 24;

std::vector<Rule> rules(const OwnAddresses& own) {
  const std::uint8_t loopback_net = 127;
  const struct {
    std::uint8_t family;
    std::uint32_t at;
    const void* address;
    std::uint32_t size;
  } inside[] = {{NFPROTO_IPV4, kV4Destination, &own.v4, sizeof own.v4},
                {NFPROTO_IPV4, kV4Destination, &loopback_net, 1},
                {NFPROTO_IPV6, kV6Destination, &own.v6, sizeof own.v6},
                {NFPROTO_IPV6, kV6Destination, &in6addr_loopback, sizeof in6addr_loopback}};
  std::vector<Rule> all;
  // Our listening socket is no service of the guest's.
  for (const auto& one : inside) {
    all.push_back(Rule()
                      .protocol(IPPROTO_TCP)
                      .destination_port(kListenPort)
                      .family(one.family)
                      .network_bytes(one.at, one.address, one.size)
                      .reset());
  }
  for (const auto& one : inside) {
    all.push_back(Rule().family(one.family).network_bytes(one.at, one.address, one.size).accept());
  }
  all.push_back(Rule()
                    .protocol(IPPROTO_TCP)
                    .is_new()
                    .beyond(kConnectionsPerSecond, kConnectionsAtOnce)
                    .reset());
  all.push_back(Rule().protocol(IPPROTO_TCP).to_socket(kListenPort).accept());
  all.push_back(Rule()
                    .family(NFPROTO_IPV4)
                    .protocol(IPPROTO_UDP)
                    .destination_port(kNamePort)
                    .to_socket(kNamePort, &own.names)
                    .accept());
  all.push_back(Rule().protocol(IPPROTO_UDP).refuse(NFT_REJECT_ICMPX_PORT_UNREACH));
  all.push_back(Rule().refuse(NFT_REJECT_ICMPX_ADMIN_PROHIBITED));
  return all;
}

std::uint16_t nft(int message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

Result<> add_rules(const OwnAddresses& own) {
  NetlinkBatch batch;
  const nfgenmsg edge{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)};
  const nfgenmsg inet{NFPROTO_INET, NFNETLINK_V0, 0};
  batch.add(NFNL_MSG_BATCH_BEGIN, 0, &edge, sizeof edge, {});
  NetlinkAttributes table;
  table.text(NFTA_TABLE_NAME, kTable);
  batch.add(nft(NFT_MSG_NEWTABLE), NLM_F_CREATE, &inet, sizeof inet, table);
  NetlinkAttributes hook;
  hook.be32(NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
  hook.be32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(-150));  // as tproxy wants it: mangle
  NetlinkAttributes chain;
  chain.text(NFTA_CHAIN_TABLE, kTable);
  chain.text(NFTA_CHAIN_NAME, kChain);
  chain.nested(NFTA_CHAIN_HOOK, hook);
  chain.be32(NFTA_CHAIN_POLICY, NF_DROP);
  chain.text(NFTA_CHAIN_TYPE, "filter");
  batch.add(nft(NFT_MSG_NEWCHAIN), NLM_F_CREATE, &inet, sizeof inet, chain);
  for (const Rule& one : rules(own)) {
    NetlinkAttributes rule;
    rule.text(NFTA_RULE_TABLE, kTable);
    rule.text(NFTA_RULE_CHAIN, kChain);
    rule.nested(NFTA_RULE_EXPRESSIONS, one.expressions());
    batch.add(nft(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND, &inet, sizeof inet, rule);
  }
  batch.want_answer();
  batch.add(NFNL_MSG_BATCH_END, 0, &edge, sizeof edge, {});
  return batch.send(NETLINK_NETFILTER, "set nftables rules (nf_tables with tproxy, limit, reject)");
}

Result<UniqueFd> listen_for_connections() {
  UniqueFd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("create a listening socket"));
  const int on = 1;
  const int off = 0;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(kListenPort);
  if (::setsockopt(socket.get(), SOL_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
      ::setsockopt(socket.get(), SOL_IPV6, IPV6_TRANSPARENT, &on, sizeof on) != 0 ||
      ::setsockopt(socket.get(), SOL_IP, IP_TRANSPARENT, &on, sizeof on) != 0 ||
      // What is accepted inherits it: an urgent byte is one like the others, where it stands.
      ::setsockopt(socket.get(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return fail(Error::from_errno("listen for every address"));
  }
  return socket;
}

Result<UniqueFd> listen_for_names(const OwnAddresses& own) {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("create a DNS socket"));
  const int on = 1;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(kNamePort);
  at.sin_addr = own.names;
  if (::setsockopt(socket.get(), SOL_IP, IP_TRANSPARENT, &on, sizeof on) != 0 ||
      ::setsockopt(socket.get(), SOL_IP, IP_PKTINFO, &on, sizeof on) != 0 ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    return fail(Error::from_errno("bind the DNS socket"));
  }
  return socket;
}

}  // namespace

Result<NetworkSockets> prepare_own_network() {
  const OwnAddresses own = own_addresses();
  TRY_OK(add_addresses(own));
  TRY_OK(add_rules(own));
  NetworkSockets sockets;
  TRY(sockets.connections, listen_for_connections());
  TRY(sockets.names, listen_for_names(own));
  return sockets;
}

Result<> raise_own_network() {
  const OwnAddresses own = own_addresses();
  NetlinkBatch batch;
  rtmsg route{};
  route.rtm_table = RT_TABLE_LOCAL;
  route.rtm_protocol = RTPROT_STATIC;
  route.rtm_type = RTN_LOCAL;
  route.rtm_family = AF_INET;
  route.rtm_scope = RT_SCOPE_HOST;
  // Nothing is lost on the way to the gateway, which is this host's memory. The host's own control
  // of congestion may pace by timers and keep little on its way (bbr): a tenth slower, and worse
  // where processors are busy.
  NetlinkAttributes metrics;
  metrics.text(RTAX_CC_ALGO, "reno");
  NetlinkAttributes v4;
  v4.nested(RTA_METRICS, metrics);
  v4.bytes(RTA_OIF, &kLoopback, sizeof kLoopback);
  v4.bytes(RTA_PREFSRC, &own.v4, sizeof own.v4);
  batch.add(RTM_NEWROUTE, NLM_F_CREATE, &route, sizeof route, v4);
  route.rtm_family = AF_INET6;
  route.rtm_scope = RT_SCOPE_UNIVERSE;
  NetlinkAttributes v6;
  v6.nested(RTA_METRICS, metrics);
  v6.bytes(RTA_OIF, &kLoopback, sizeof kLoopback);
  v6.bytes(RTA_PREFSRC, &own.v6, sizeof own.v6);
  batch.add(RTM_NEWROUTE, NLM_F_CREATE, &route, sizeof route, v6);
  batch.want_answer();
  return batch.send(NETLINK_ROUTE, "add local default routes");
}

}  // namespace glovebox::sys
