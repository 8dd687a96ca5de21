// The protocol between a server (or a client's own run) and the egress gateway over a SEQPACKET
// socket: fixed kinds, bounded sizes, versioned from the first byte. Neither side trusts the other:
// the gateway holds the server, which parses clients, to the administrator's ceiling; the server
// checks and bounds everything from the gateway, which parses guests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "net/net_policy.h"

namespace glovebox::wire {

inline constexpr std::uint8_t kGatewayProtocol = 2;
// Two full lists of the longest rules fit, and so does a full report.
inline constexpr std::size_t kMaxGatewayMessage = 160 * 1024;
inline constexpr std::size_t kMaxNetworks = 4096;
inline constexpr std::size_t kMaxDecisions = 128;  // different ones that are kept of a sandbox
inline constexpr std::size_t kMaxRuleText = 320;

// One kind of decision, and how often it was taken: the same name, address, port and rule.
struct NetDecision {
  enum class What : std::uint8_t { kConnect = 1, kResolve = 2 };
  What what = What::kConnect;
  bool allowed = false;
  std::string name;     // that was resolved or said; empty if there is none
  std::string address;  // empty for a name that was not resolved
  std::uint16_t port = 0;
  std::string rule;  // see net::Verdict; "budget: connections", "rate: names", "no answer" too
  std::uint64_t count = 0;
  std::uint64_t bytes_out = 0;  // from the sandbox
  std::uint64_t bytes_in = 0;
  std::int64_t first_ms = 0;  // since 1970
  std::int64_t last_ms = 0;
  bool operator==(const NetDecision&) const = default;
};

// Bits of NetTotals::spent.
enum class NetBudget : std::uint8_t { kBytesOut = 1, kConnections = 2, kNames = 4 };

struct NetTotals {
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t connections = 0;  // allowed ones
  std::uint64_t denied = 0;       // connections and names
  std::uint64_t names = 0;        // distinct ones that were resolved
  std::uint32_t open = 0;         // relays now
  std::uint8_t spent = 0;         // NetBudget bits
  bool operator==(const NetTotals&) const = default;
};

// Descriptors, all three made inside or for the sandbox: [0] the listening socket to which every
// connection comes, [1] the datagram socket to which questions for names come, [2] the pidfd of its
// first process: when that ends the network is closed. An id that is there already gets these
// sockets and this policy; its relays and figures stay. Answered by Done or NetworkRefused.
struct OpenNetwork {
  std::uint32_t seq = 0;
  SandboxId id;
  std::string tenant;  // whose: answers of the resolver are shared within one
  net::NetPolicy policy;
  // Of a build of packages or a pull of an image: the ceiling is the administrator's indexes and
  // registries and nothing else, whatever sandboxes may reach, and its names may be at any address.
  bool is_build = false;
  bool operator==(const OpenNetwork&) const = default;
};
// For new connections at once; relays that it forbids are cut. Answered by Done or NetworkRefused.
struct ChangePolicy {
  std::uint32_t seq = 0;
  SandboxId id;
  net::NetPolicy policy;
  bool operator==(const ChangePolicy&) const = default;
};
// Answered by NetworkReport or NetworkRefused. `close` ends it, relays and all, and forgets it.
struct ReadNetwork {
  std::uint32_t seq = 0;
  SandboxId id;
  bool close = false;
  bool operator==(const ReadNetwork&) const = default;
};
// Answered by NetworksListed: those that are open.
struct ListNetworks {
  std::uint32_t seq = 0;
  bool operator==(const ListNetworks&) const = default;
};
using GatewayRequest = std::variant<OpenNetwork, ChangePolicy, ReadNetwork, ListNetworks>;

struct GatewayDone {
  std::uint32_t seq = 0;
  bool operator==(const GatewayDone&) const = default;
};
struct NetworkRefused {
  std::uint32_t seq = 0;
  Errc code = Errc::kInternal;
  std::string message;
  bool operator==(const NetworkRefused&) const = default;
};
struct NetworkReport {
  std::uint32_t seq = 0;
  SandboxId id;
  NetTotals totals;
  std::vector<NetDecision> decisions;  // oldest first, at most kMaxDecisions
  std::uint64_t left_out = 0;          // decisions that are counted, but of kinds not kept
  bool operator==(const NetworkReport&) const = default;
};
struct NetworksListed {
  std::uint32_t seq = 0;
  std::vector<SandboxId> ids;
  bool operator==(const NetworksListed&) const = default;
};
// By itself: a decision of a kind that this sandbox had not had. Left out when the server does not
// read fast enough.
struct NetworkDecided {
  SandboxId id;
  NetDecision decision;
  bool operator==(const NetworkDecided&) const = default;
};
using GatewayReply =
    std::variant<GatewayDone, NetworkRefused, NetworkReport, NetworksListed, NetworkDecided>;

std::vector<std::byte> encode(const GatewayRequest& request);
std::vector<std::byte> encode(const GatewayReply& reply);
Result<GatewayRequest> decode_gateway_request(std::span<const std::byte> bytes);
Result<GatewayReply> decode_gateway_reply(std::span<const std::byte> bytes);

}  // namespace glovebox::wire
