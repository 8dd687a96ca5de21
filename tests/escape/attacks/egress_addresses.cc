// Attacks on the way out by addresses: what no policy reaches, in every spelling, said directly or
// by a name. All rows ask for `all`; good.example shows that this works.
#include "egress.h"
#include "toolbox.h"

namespace glovebox::attacks {
namespace {

constexpr const char* kAll = "--net all";
const char* const kReserved = "gateway: reserved addresses";
const char* const kOwn = "gateway: the host's own addresses";
const char* const kAnswers = "gateway: answers are filtered";

// A template argument must be an object with a name; so each aim is one.
#define GBX_EGRESS_AIM(name, text) constexpr char name[] = text
GBX_EGRESS_AIM(kLoopback, "127.0.0.1");
GBX_EGRESS_AIM(kLoopbackFar, "127.8.8.8");
GBX_EGRESS_AIM(kLoopbackMapped, "::ffff:127.0.0.1");
GBX_EGRESS_AIM(kLoopback6, "::1");
GBX_EGRESS_AIM(kThisHost, "0.0.0.0");
GBX_EGRESS_AIM(kThisHost6, "::");
GBX_EGRESS_AIM(kOwn4, "51.15.0.2");
GBX_EGRESS_AIM(kOwn6, "2a01:4f8:1::2");
GBX_EGRESS_AIM(kOwnMapped, "::ffff:51.15.0.2");
GBX_EGRESS_AIM(kMeta, "169.254.169.254");
GBX_EGRESS_AIM(kMetaMapped, "::ffff:a9fe:a9fe");
GBX_EGRESS_AIM(kMeta6, "fd00:ec2::254");
GBX_EGRESS_AIM(kMetaNat64, "64:ff9b::a9fe:a9fe");
GBX_EGRESS_AIM(kMeta6to4, "2002:a9fe:a9fe::1");
GBX_EGRESS_AIM(kMetaCompatible, "::a9fe:a9fe");
GBX_EGRESS_AIM(kLinkLocal, "169.254.1.1");
GBX_EGRESS_AIM(kPrivate10, "10.0.0.1");
GBX_EGRESS_AIM(kPrivate172, "172.31.255.1");
GBX_EGRESS_AIM(kPrivate192, "192.168.1.1");
GBX_EGRESS_AIM(kPrivateTeredo, "2001:0:5db8:d822:0:3f57:f5ff:fffe");
GBX_EGRESS_AIM(kShared, "100.64.0.7");
GBX_EGRESS_AIM(kUnique6, "fd12:3456::1");
GBX_EGRESS_AIM(kSite6, "fec0::1");
GBX_EGRESS_AIM(kClassE, "240.0.0.1");
GBX_EGRESS_AIM(kBenchmark, "198.18.0.1");
#undef GBX_EGRESS_AIM

template <const char* kAddress, std::uint16_t kPort>
Verdict reach_it(const Args&) {
  return where_good_is_reached([] { return reach(kAddress, kPort); });
}

constexpr char kToLoopback[] = "loopback.example";
constexpr char kToMetadata[] = "metadata.example";
constexpr char kToPrivate[] = "private.example";
constexpr char kToAlias[] = "alias-private.example";
constexpr char kToBox[] = "box.example";
constexpr char kToTranslated[] = "translated.example";

template <const char* kName, std::uint16_t kType, std::uint16_t kPort>
Verdict resolve_it(const Args&) {
  return where_good_is_reached(
      [] { return resolve_and_reach({.name = kName, .type = kType}, kPort); });
}

// The public address beside them may be reached, the others may not.
Verdict mixed(const Args&) {
  return where_good_is_reached([] {
    Verdict verdict = denied("only public addresses are told");
    for (const std::string& address : ask({.name = "mixed.example"}).addresses) {
      if (address == kOther4) continue;
      verdict = reach(address, 80);
      if (verdict.code == kSucceeded) return verdict;
    }
    return verdict;
  });
}

// First public, then inside: a gateway that resolves once for the check and again for the
// connection is fooled.
Verdict rebinding(const Args&) {
  return where_good_is_reached([] {
    Verdict verdict = denied("always the same answer");
    for (int turn = 0; turn < 4; ++turn) {
      for (const std::string& address : ask({.name = "rebinding.example"}).addresses) {
        if (address == kOther4) continue;
        verdict = reach(address, 80);
        if (verdict.code == kSucceeded) return verdict;
      }
    }
    return verdict;
  });
}

#define GBX_REACHES(row, aim, wall, address, port)                                \
  Attack {                                                                        \
    .name = row, .aims_at = aim, .held_by = wall, .run = reach_it<address, port>, \
    .needs = "internet", .limits = kAll                                           \
  }
#define GBX_RESOLVES(row, aim, to, type, port)                                           \
  Attack {                                                                               \
    .name = row, .aims_at = aim, .held_by = kAnswers, .run = resolve_it<to, type, port>, \
    .needs = "internet", .limits = kAll                                                  \
  }

const Attack kAttacks[] = {
    GBX_REACHES("egress_loopback", "the host's 127.0.0.1", kReserved, kLoopback, kBoxPort),
    GBX_REACHES("egress_loopback_far", "the host's 127.8.8.8", kReserved, kLoopbackFar, kBoxPort),
    GBX_REACHES("egress_loopback_mapped", "the host's ::ffff:127.0.0.1", kReserved, kLoopbackMapped,
                kBoxPort),
    GBX_REACHES("egress_loopback_v6", "the host's ::1", kReserved, kLoopback6, kBoxPort),
    GBX_REACHES("egress_zero", "the host by 0.0.0.0", kReserved, kThisHost, kBoxPort),
    GBX_REACHES("egress_zero_v6", "the host by ::", kReserved, kThisHost6, kBoxPort),
    GBX_REACHES("egress_own_address", "the host's public address", kOwn, kOwn4, kBoxPort),
    GBX_REACHES("egress_own_address_v6", "the host's public IPv6 address", kOwn, kOwn6, kBoxPort),
    GBX_REACHES("egress_own_mapped", "the host's public address as IPv6 spells it", kOwn,
                kOwnMapped, kBoxPort),
    GBX_REACHES("egress_metadata", "the cloud's metadata service", kReserved, kMeta, 80),
    GBX_REACHES("egress_metadata_mapped", "the metadata service as IPv6 spells it", kReserved,
                kMetaMapped, 80),
    GBX_REACHES("egress_metadata_v6", "the metadata service's IPv6 address", kReserved, kMeta6, 80),
    GBX_REACHES("egress_metadata_nat64", "the metadata service through NAT64", kReserved,
                kMetaNat64, 80),
    GBX_REACHES("egress_metadata_6to4", "the metadata service through 6to4", kReserved, kMeta6to4,
                80),
    GBX_REACHES("egress_metadata_compatible", "the metadata service in a compatible address",
                kReserved, kMetaCompatible, 80),
    GBX_REACHES("egress_link_local", "a neighbour on the host's link", kReserved, kLinkLocal, 80),
    GBX_REACHES("egress_private_10", "the private network 10/8", kReserved, kPrivate10, 80),
    GBX_REACHES("egress_private_172", "the private network 172.16/12", kReserved, kPrivate172, 80),
    GBX_REACHES("egress_private_192", "the private network 192.168/16", kReserved, kPrivate192, 80),
    GBX_REACHES("egress_private_teredo", "a private network through Teredo", kReserved,
                kPrivateTeredo, 80),
    GBX_REACHES("egress_shared", "the provider's 100.64/10, other sandboxes", kReserved, kShared,
                80),
    GBX_REACHES("egress_unique_v6", "a private IPv6 network", kReserved, kUnique6, 80),
    GBX_REACHES("egress_site_v6", "a site's IPv6 network", kReserved, kSite6, 80),
    GBX_REACHES("egress_class_e", "240/4, which some networks use inside", kReserved, kClassE, 80),
    GBX_REACHES("egress_benchmark", "198.18/15, which some networks use inside", kReserved,
                kBenchmark, 80),
    GBX_RESOLVES("egress_name_of_loopback", "the host by a name of 127.0.0.1", kToLoopback, kTypeA,
                 kBoxPort),
    GBX_RESOLVES("egress_name_of_loopback_v6", "the host by a name of ::1", kToLoopback, kTypeAaaa,
                 kBoxPort),
    GBX_RESOLVES("egress_name_of_metadata", "the metadata service by a name", kToMetadata, kTypeA,
                 80),
    GBX_RESOLVES("egress_name_of_metadata_v6", "the metadata service by a mapped address' name",
                 kToMetadata, kTypeAaaa, 80),
    GBX_RESOLVES("egress_name_of_private", "a private network by a name", kToPrivate, kTypeA, 80),
    GBX_RESOLVES("egress_alias_of_private", "a private network by an alias", kToAlias, kTypeA, 80),
    GBX_RESOLVES("egress_name_of_host", "the host's public address by a name", kToBox, kTypeA,
                 kBoxPort),
    GBX_RESOLVES("egress_name_translated", "the metadata service by a name in NAT64", kToTranslated,
                 kTypeAaaa, 80),
    {.name = "egress_name_mixed",
     .aims_at = "a private address beside a public one",
     .held_by = kAnswers,
     .run = mixed,
     .needs = "internet",
     .limits = kAll},
    {.name = "egress_rebinding",
     .aims_at = "the metadata service by a name that changes",
     .held_by = kAnswers,
     .run = rebinding,
     .needs = "internet",
     .limits = kAll},
};

}  // namespace

Group egress_address_attacks() { return {"network", kAttacks}; }

}  // namespace glovebox::attacks
