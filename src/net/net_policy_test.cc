#include "net/net_policy.h"

#include <gtest/gtest.h>

namespace glovebox::net {
namespace {

using Texts = std::vector<std::string_view>;

std::vector<NetRule> parse_rules(const Texts& texts) {
  std::vector<NetRule> rules;
  for (const auto text : texts) {
    auto parsed = NetRule::parse(text);
    EXPECT_TRUE(parsed.has_value()) << text;
    if (parsed) rules.push_back(std::move(*parsed));
  }
  return rules;
}
NetPolicy policy(NetBase base, const Texts& allow = {}, const Texts& deny = {},
                 bool allow_wins = false) {
  return NetPolicy{.base = base,
                   .allow = parse_rules(allow),
                   .deny = parse_rules(deny),
                   .allow_wins = allow_wins,
                   .budgets = {}};
}
HostName name(std::string_view text) { return *HostName::parse(text); }
IpAddress ip(std::string_view text) { return *IpAddress::parse(text); }
std::vector<HostName> names(const Texts& texts) {
  std::vector<HostName> list;
  for (const auto text : texts) list.push_back(name(text));
  return list;
}

// "allow RULE", "deny RULE", or "ask RULE" where a name must be said, "ask? RULE" where it may.
std::string at_connect(const NetRules& rules, std::string_view address, std::uint16_t port,
                       const Texts& known = {}) {
  const AtConnect decided = decide_at_connect(rules, ip(address), port, names(known));
  EXPECT_TRUE(decided.verdict.allowed || !decided.needs_server_name);
  EXPECT_TRUE(decided.needs_server_name || !decided.unnamed_too);
  const char* what = !decided.verdict.allowed    ? "DENY "
                     : decided.unnamed_too       ? "ASK? "
                     : decided.needs_server_name ? "ASK "
                                                 : "ALLOW ";
  return what + decided.verdict.rule;
}
std::string named(const NetRules& rules, std::string_view address, std::uint16_t port,
                  std::string_view server_name) {
  const Verdict verdict = decide_named(rules, ip(address), port, name(server_name));
  return (verdict.allowed ? "ALLOW " : "DENY ") + verdict.rule;
}
std::string resolves(const NetRules& rules, std::string_view text) {
  const Verdict verdict = may_resolve(rules, name(text));
  return (verdict.allowed ? "ALLOW " : "DENY ") + verdict.rule;
}
NetRules under_no_ceiling(NetPolicy asked) { return {.policy = std::move(asked), .ceiling = {}}; }
NetRules under(NetPolicy asked, NetPolicy ceiling, const Texts& opened = {}) {
  NetRules rules{.policy = std::move(asked),
                 .ceiling = {.policy = std::move(ceiling), .opened = {}}};
  for (const auto text : opened) rules.ceiling.opened.push_back(*Cidr::parse(text));
  return rules;
}

constexpr std::string_view kPublic = "93.184.216.34";

TEST(NetPolicy, TextIsCanonical) {
  EXPECT_EQ(canonical_text({}), R"("none")");
  EXPECT_EQ(canonical_text(policy(NetBase::kHttpsOnly)), R"("https-only")");
  EXPECT_EQ(canonical_text(policy(NetBase::kAll)), R"("all")");
  EXPECT_EQ(canonical_text(policy(NetBase::kNone, {}, {"evil.example"})), R"("none")");
  EXPECT_EQ(
      canonical_text(policy(NetBase::kNone, {"b.example", "A.example:443-443", "b.example."})),
      R"({"allow":["a.example:443","b.example"]})");
  EXPECT_EQ(canonical_text(policy(NetBase::kAll, {}, {"evil.example"})),
            R"({"deny":["evil.example"]})");
  EXPECT_EQ(canonical_text(policy(NetBase::kHttpsOnly, {}, {"evil.example"})),
            R"({"base":"https-only","deny":["evil.example"]})");
  EXPECT_EQ(canonical_text(policy(NetBase::kAll, {"a.example"}, {"*"}, true)),
            R"({"allow":["a.example"],"base":"all","deny":["*"],"precedence":"allow"})");
  EXPECT_EQ(canonical_text(policy(NetBase::kNone, {"a.example"}, {}, true)),
            R"({"allow":["a.example"]})");
  NetPolicy bounded = policy(NetBase::kAll);
  bounded.budgets = {.bytes_out = 10, .connections = std::nullopt, .names = 0};
  EXPECT_EQ(canonical_text(bounded), R"({"base":"all","budgets":{"bytes_out":10,"names":0}})");
  bounded.base = NetBase::kNone;
  EXPECT_EQ(canonical_text(bounded), R"("none")");
}

TEST(NetPolicy, BasesHaveNames) {
  for (const NetBase base : {NetBase::kNone, NetBase::kHttpsOnly, NetBase::kAll}) {
    EXPECT_EQ(parse_base(base_name(base)), base);
  }
  for (const char* text : {"", "None", "https", "ALL", "all "}) EXPECT_FALSE(parse_base(text));
}

TEST(Decide, NoneReachesNothing) {
  const NetRules rules = under_no_ceiling({});
  EXPECT_EQ(at_connect(rules, kPublic, 443), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, kPublic, 80), "DENY not in the policy");
  EXPECT_EQ(named(rules, kPublic, 443, "pypi.org"), "DENY not in the policy");
  EXPECT_EQ(resolves(rules, "pypi.org"), "DENY not in the policy");
}

TEST(Decide, HttpsOnlyNeedsANameAtPort443) {
  const NetRules rules = under_no_ceiling(policy(NetBase::kHttpsOnly));
  EXPECT_EQ(at_connect(rules, kPublic, 443), "ASK base https-only");
  EXPECT_EQ(named(rules, kPublic, 443, "pypi.org"), "ALLOW base https-only");
  EXPECT_EQ(at_connect(rules, kPublic, 80, {"pypi.org"}), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, kPublic, 8443, {"pypi.org"}), "DENY not in the policy");
  EXPECT_EQ(named(rules, kPublic, 8443, "pypi.org"), "DENY not in the policy");
  EXPECT_EQ(resolves(rules, "pypi.org"), "ALLOW base https-only");
}

TEST(Decide, AllReachesThePublicInternet) {
  const NetRules rules = under_no_ceiling(policy(NetBase::kAll));
  EXPECT_EQ(at_connect(rules, kPublic, 443), "ALLOW base all");
  EXPECT_EQ(at_connect(rules, kPublic, 22), "ALLOW base all");
  EXPECT_EQ(at_connect(rules, "2a00:1450::1", 65535), "ALLOW base all");
  EXPECT_EQ(at_connect(rules, kPublic, 0), "DENY not in the policy");
  EXPECT_EQ(named(rules, kPublic, 0, "pypi.org"), "DENY not in the policy");
  EXPECT_EQ(resolves(rules, "pypi.org"), "ALLOW base all");
}

TEST(Decide, AReservedAddressIsNeverReached) {
  const NetRules everything =
      under_no_ceiling(policy(NetBase::kAll, {"*", "0.0.0.0/0", "::/0", "127.0.0.0/8"}, {}, true));
  const std::pair<const char*, const char*> places[] = {
      {"127.0.0.1", "loopback"},
      {"::ffff:127.0.0.1", "loopback"},
      {"::1", "loopback"},
      {"64:ff9b::7f00:1", "loopback"},
      {"2002:7f00:1::", "loopback"},
      {"169.254.169.254", "metadata"},
      {"::ffff:a9fe:a9fe", "metadata"},
      {"fd00:ec2::254", "metadata"},
      {"168.63.129.16", "metadata"},
      {"100.64.0.1", "shared"},
      {"fd00:67:62::1", "private"},
      {"10.0.0.1", "private"},
      {"0.0.0.0", "this host"},
      {"::", "this host"},
      {"224.0.0.1", "multicast"},
      {"fe80::1", "link-local"},
      {"2001:0:1:2:3:4:80ff:fffe", "loopback"},
  };
  for (const auto& [address, kind] : places) {
    const std::string denied = "DENY reserved: " + std::string(kind);
    for (const std::uint16_t port : {443, 80}) {
      EXPECT_EQ(at_connect(everything, address, port, {"pypi.org"}), denied) << address;
      EXPECT_EQ(named(everything, address, port, "pypi.org"), denied) << address;
    }
    EXPECT_FALSE(may_be_at(everything, ip(address)).allowed) << address;
  }
  EXPECT_TRUE(may_be_at(everything, ip(kPublic)).allowed);
}

TEST(Decide, AnOpenedRangeCountsAsPublic) {
  const auto opened = [](NetPolicy asked) {
    return under(std::move(asked), policy(NetBase::kAll), {"10.1.0.0/16"});
  };
  EXPECT_EQ(at_connect(opened(policy(NetBase::kAll)), "10.1.2.3", 80), "ALLOW base all");
  EXPECT_EQ(at_connect(opened(policy(NetBase::kAll)), "10.2.2.3", 80), "DENY reserved: private");
  EXPECT_EQ(at_connect(opened(policy(NetBase::kHttpsOnly)), "10.1.2.3", 443),
            "ASK base https-only");
  EXPECT_EQ(at_connect(opened({}), "10.1.2.3", 80), "DENY not in the policy");
  EXPECT_TRUE(may_be_at(opened({}), ip("10.1.2.3")).allowed);
  EXPECT_FALSE(may_be_at(opened({}), ip("10.0.2.3")).allowed);
}

// A package index is often a private mirror.
TEST(Decide, WhereAnyAddressWillDoARulesNameMayBePrivate) {
  NetRules rules = under(policy(NetBase::kNone, {"mirror.corp:8080", "10.0.0.7/32:3141"}),
                         policy(NetBase::kNone, {"mirror.corp:8080", "10.0.0.7/32:3141"}));
  const Texts private_addresses = {"10.1.2.3",    "192.168.0.5",     "100.64.0.1", "203.0.113.80",
                                   "172.16.0.1",  "198.18.0.1",      "240.0.0.1",  "fd12::1",
                                   "2001:db8::1", "64:ff9b::a01:203"};
  for (const auto address : private_addresses) {
    EXPECT_TRUE(at_connect(rules, address, 8080, {"mirror.corp"}).starts_with("DENY reserved: "))
        << address;  // the control: it is the flag that lets it through
    EXPECT_FALSE(may_be_at(rules, ip(address)).allowed) << address;
  }
  EXPECT_EQ(at_connect(rules, "10.0.0.7", 3141), "DENY reserved: private");

  rules.ceiling.any_address = true;
  for (const auto address : private_addresses) {
    EXPECT_EQ(at_connect(rules, address, 8080, {"mirror.corp"}), "ALLOW allow mirror.corp:8080")
        << address;
    EXPECT_EQ(may_be_at(rules, ip(address)), (Verdict{true, "any address"})) << address;
  }
  EXPECT_EQ(at_connect(rules, "10.0.0.7", 3141), "ALLOW allow 10.0.0.7/32:3141");
  EXPECT_EQ(at_connect(rules, "10.0.0.7", 3142), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, "10.1.2.3", 8080), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, "10.1.2.3", 22, {"mirror.corp"}), "DENY not in the policy");
}

TEST(Decide, AnyAddressStillMustBeAssigned) {
  NetRules rules = under(policy(NetBase::kAll), policy(NetBase::kAll));
  rules.ceiling.any_address = true;
  const std::pair<std::string_view, std::string_view> unassigned[] = {
      {"127.0.0.1", "loopback"},
      {"127.9.9.9", "loopback"},
      {"::1", "loopback"},
      {"0.0.0.0", "this host"},
      {"0.1.2.3", "this host"},
      {"::", "this host"},
      {"169.254.0.1", "link-local"},
      {"fe80::1", "link-local"},
      {"febf::1", "link-local"},
      {"169.254.169.254", "metadata"},
      {"168.63.129.16", "metadata"},
      {"100.100.100.200", "metadata"},
      {"fd00:ec2::254", "metadata"},
      {"224.0.0.1", "multicast"},
      {"239.255.255.250", "multicast"},
      {"ff02::1", "multicast"},
      {"255.255.255.255", "broadcast"},
      {"100::1", "discard"},
      {"::ffff:127.0.0.1", "loopback"},
      {"64:ff9b::7f00:1", "loopback"},
      {"2002:7f00:1::", "loopback"},
      {"64:ff9b::a9fe:a9fe", "metadata"},
      {"::127.0.0.1", "loopback"},
  };
  for (const auto& [address, kind] : unassigned) {
    EXPECT_EQ(at_connect(rules, address, 80), "DENY reserved: " + std::string(kind)) << address;
    EXPECT_EQ(named(rules, address, 443, "mirror.corp"), "DENY reserved: " + std::string(kind));
  }
}

TEST(Decide, ANameCountsForTheAddressesItWasResolvedTo) {
  const NetRules rules =
      under_no_ceiling(policy(NetBase::kNone, {"db.example:5432", "*.ok.example"}));
  EXPECT_EQ(at_connect(rules, kPublic, 5432, {"db.example"}), "ALLOW allow db.example:5432");
  EXPECT_EQ(at_connect(rules, kPublic, 5433, {"db.example"}), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, kPublic, 5432), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, kPublic, 5432, {"other.example"}), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, kPublic, 22, {"other.example", "a.ok.example"}),
            "ALLOW allow *.ok.example");
  EXPECT_EQ(at_connect(rules, kPublic, 22, {"ok.example"}), "DENY not in the policy");
  EXPECT_EQ(resolves(rules, "db.example"), "ALLOW allow db.example:5432");
  EXPECT_EQ(resolves(rules, "x.db.example"), "DENY not in the policy");
  EXPECT_EQ(resolves(rules, "secret.evil.example"), "DENY not in the policy");
}

TEST(Decide, Port443UsesTheServerNameOfTheClient) {
  const NetRules rules = under_no_ceiling(policy(NetBase::kNone, {"pypi.org"}));
  EXPECT_EQ(at_connect(rules, kPublic, 443, {"pypi.org"}), "ASK allow by name");
  EXPECT_EQ(at_connect(rules, kPublic, 443), "ASK allow by name");
  EXPECT_EQ(named(rules, kPublic, 443, "pypi.org"), "ALLOW allow pypi.org");
  EXPECT_EQ(named(rules, kPublic, 443, "evil.example"), "DENY not in the policy");
  const NetRules elsewhere = under_no_ceiling(policy(NetBase::kNone, {"pypi.org:80"}));
  EXPECT_EQ(at_connect(elsewhere, kPublic, 443, {"pypi.org"}), "DENY not in the policy");
  EXPECT_EQ(named(elsewhere, kPublic, 443, "pypi.org"), "DENY not in the policy");
}

TEST(Decide, ARangeNeedsNoName) {
  const NetRules rules = under_no_ceiling(policy(NetBase::kNone, {"93.184.216.0/24"}));
  EXPECT_EQ(at_connect(rules, kPublic, 443), "ALLOW allow 93.184.216.0/24");
  EXPECT_EQ(at_connect(rules, "::ffff:93.184.216.34", 443), "ALLOW allow 93.184.216.0/24");
  EXPECT_EQ(at_connect(rules, "93.184.217.1", 443), "DENY not in the policy");
  EXPECT_EQ(at_connect(rules, "64:ff9b::5db8:d822", 443), "DENY not in the policy");
  EXPECT_EQ(resolves(rules, "pypi.org"), "DENY not in the policy");
}

TEST(Decide, ARangeThatIsDeniedIsDeniedInWhateverEmbedsIt) {
  const NetRules rules = under_no_ceiling(policy(NetBase::kAll, {}, {"93.184.216.0/24"}));
  EXPECT_EQ(at_connect(rules, kPublic, 80), "DENY deny 93.184.216.0/24");
  EXPECT_EQ(at_connect(rules, "64:ff9b::5db8:d822", 80), "DENY deny 93.184.216.0/24");
  EXPECT_EQ(at_connect(rules, "64:ff9b::5db8:d722", 80), "ALLOW base all");
  EXPECT_EQ(named(rules, kPublic, 443, "a.example"), "DENY deny 93.184.216.0/24");
  // At 443 the decision is made before the client has said a name.
  EXPECT_EQ(at_connect(rules, kPublic, 443), "DENY deny 93.184.216.0/24");
  for (const char* embedding : {"64:ff9b::5db8:d822", "64:ff9b::5db8:d801"}) {
    EXPECT_EQ(at_connect(rules, embedding, 443), "DENY deny 93.184.216.0/24") << embedding;
    EXPECT_EQ(named(rules, embedding, 443, "a.example"), "DENY deny 93.184.216.0/24") << embedding;
  }
  EXPECT_EQ(at_connect(rules, "64:ff9b::5db8:d722", 443), "ALLOW base all");
}

TEST(Decide, DeniedNamesAreReadFromTheHello) {
  const NetRules rules =
      under_no_ceiling(policy(NetBase::kAll, {}, {"evil.example", "*.bad.example:443"}));
  EXPECT_EQ(at_connect(rules, kPublic, 443), "ASK? base all");
  EXPECT_EQ(named(rules, kPublic, 443, "evil.example"), "DENY deny evil.example");
  EXPECT_EQ(named(rules, kPublic, 443, "x.bad.example"), "DENY deny *.bad.example:443");
  EXPECT_EQ(named(rules, kPublic, 443, "good.example"), "ALLOW base all");
  EXPECT_EQ(at_connect(rules, kPublic, 22), "ALLOW base all");
  EXPECT_EQ(at_connect(rules, kPublic, 22, {"good.example", "evil.example"}),
            "DENY deny evil.example");
  // Resolved for another port, so its address is known: it is not had by saying nothing.
  EXPECT_EQ(at_connect(rules, kPublic, 443, {"x.bad.example"}), "ASK base all");
  EXPECT_EQ(resolves(rules, "evil.example"), "DENY deny evil.example");
  EXPECT_EQ(resolves(rules, "x.bad.example"), "ALLOW base all");
  EXPECT_EQ(resolves(rules, "good.example"), "ALLOW base all");
  // A denied name somewhere else does not cause a wait for a ClientHello.
  const NetRules at_22 = under_no_ceiling(policy(NetBase::kAll, {}, {"evil.example:22"}));
  EXPECT_EQ(at_connect(at_22, kPublic, 443), "ALLOW base all");
  const NetRules range =
      under_no_ceiling(policy(NetBase::kNone, {"93.184.216.0/24"}, {"evil.example"}));
  EXPECT_EQ(at_connect(range, kPublic, 443), "ASK? allow 93.184.216.0/24");
}

TEST(Decide, DenyWinsUnlessAllowHasPrecedence) {
  const Texts allow = {"good.example", "93.184.216.34"};
  const Texts deny = {"*.example", "93.184.216.0/24"};
  const NetRules strict = under_no_ceiling(policy(NetBase::kNone, allow, deny));
  const NetRules e2b = under_no_ceiling(policy(NetBase::kNone, allow, deny, true));
  EXPECT_EQ(at_connect(strict, kPublic, 80), "DENY deny 93.184.216.0/24");
  EXPECT_EQ(at_connect(e2b, kPublic, 80), "ALLOW allow 93.184.216.34/32");
  EXPECT_EQ(at_connect(strict, "8.8.8.8", 80, {"good.example"}), "DENY deny *.example");
  EXPECT_EQ(at_connect(e2b, "8.8.8.8", 80, {"good.example"}), "ALLOW allow good.example");
  EXPECT_EQ(at_connect(strict, kPublic, 443), "DENY deny 93.184.216.0/24");
  EXPECT_EQ(at_connect(e2b, kPublic, 443), "ALLOW allow 93.184.216.34/32");
  EXPECT_EQ(at_connect(e2b, "93.184.216.35", 443), "ASK deny 93.184.216.0/24");
  EXPECT_EQ(named(e2b, "93.184.216.35", 443, "good.example"), "ALLOW allow good.example");
  EXPECT_EQ(named(e2b, "93.184.216.35", 443, "bad.example"), "DENY deny 93.184.216.0/24");
  EXPECT_EQ(named(strict, "8.8.8.8", 443, "good.example"), "DENY deny *.example");
  EXPECT_EQ(resolves(strict, "good.example"), "DENY deny *.example");
  EXPECT_EQ(resolves(e2b, "good.example"), "ALLOW allow good.example");
  EXPECT_EQ(resolves(e2b, "bad.example"), "DENY not in the policy");
}

TEST(Decide, AllowListUnderADenyOfEverything) {
  const NetRules star = under_no_ceiling(policy(NetBase::kAll, {"good.example"}, {"*"}, true));
  EXPECT_EQ(at_connect(star, kPublic, 443), "ASK deny *");
  EXPECT_EQ(named(star, kPublic, 443, "good.example"), "ALLOW allow good.example");
  EXPECT_EQ(named(star, kPublic, 443, "other.example"), "DENY deny *");
  EXPECT_EQ(at_connect(star, kPublic, 80), "DENY deny *");
  EXPECT_EQ(resolves(star, "good.example"), "ALLOW allow good.example");
  EXPECT_EQ(resolves(star, "other.example"), "DENY deny *");
  const NetRules ranges =
      under_no_ceiling(policy(NetBase::kAll, {"good.example"}, {"0.0.0.0/0", "::/0"}, true));
  EXPECT_EQ(resolves(ranges, "good.example"), "ALLOW allow good.example");
  EXPECT_EQ(resolves(ranges, "other.example"), "DENY deny 0.0.0.0/0");
  EXPECT_EQ(at_connect(ranges, "2a00:1450::1", 80), "DENY deny ::/0");
}

TEST(Decide, ANameIsResolvedIfSomePortIsLeft) {
  EXPECT_EQ(resolves(under_no_ceiling(policy(NetBase::kNone, {"a.example:443"}, {"a.example:443"})),
                     "a.example"),
            "DENY deny a.example:443");
  EXPECT_EQ(resolves(under_no_ceiling(policy(NetBase::kNone, {"a.example:443-444"}, {"*:443"})),
                     "a.example"),
            "ALLOW allow a.example:443-444");
  EXPECT_EQ(resolves(under_no_ceiling(
                         policy(NetBase::kAll, {}, {"*.example:1-1000", "a.example:1001-65535"})),
                     "a.example"),
            "DENY deny *.example:1-1000");
  EXPECT_EQ(
      resolves(under_no_ceiling(policy(NetBase::kHttpsOnly, {}, {"a.example:443"})), "a.example"),
      "DENY deny a.example:443");
  EXPECT_EQ(resolves(under_no_ceiling(policy(NetBase::kNone, {"*:443"})), "any.example"),
            "ALLOW allow *:443");
}

TEST(Decide, TheCeilingHoldsWhateverThePolicySays) {
  const NetPolicy all = policy(NetBase::kAll, {"*"}, {}, true);
  const NetRules none = under(all, {});
  EXPECT_EQ(at_connect(none, kPublic, 443), "DENY ceiling: not in the policy");
  EXPECT_EQ(resolves(none, "pypi.org"), "DENY ceiling: not in the policy");

  const NetRules https = under(all, policy(NetBase::kHttpsOnly));
  EXPECT_EQ(at_connect(https, kPublic, 443), "ASK ceiling: base https-only");
  EXPECT_EQ(named(https, kPublic, 443, "pypi.org"), "ALLOW allow *");
  EXPECT_EQ(at_connect(https, kPublic, 80), "DENY ceiling: not in the policy");

  const NetRules deny = under(all, policy(NetBase::kAll, {}, {"evil.example", "8.8.8.8"}));
  EXPECT_EQ(at_connect(deny, kPublic, 443), "ASK? ceiling: base all");
  EXPECT_EQ(named(deny, kPublic, 443, "evil.example"), "DENY ceiling: deny evil.example");
  EXPECT_EQ(at_connect(deny, "8.8.8.8", 53), "DENY ceiling: deny 8.8.8.8/32");
  EXPECT_EQ(at_connect(deny, "64:ff9b::808:808", 53), "DENY ceiling: deny 8.8.8.8/32");
  EXPECT_EQ(at_connect(deny, "64:ff9b::808:808", 443), "DENY ceiling: deny 8.8.8.8/32");
  EXPECT_EQ(at_connect(deny, kPublic, 25, {"evil.example"}), "DENY ceiling: deny evil.example");
  EXPECT_EQ(resolves(deny, "evil.example"), "DENY ceiling: deny evil.example");

  const NetRules list = under(all, policy(NetBase::kNone, {"*.pypi.org:443"}));
  EXPECT_EQ(at_connect(list, kPublic, 443), "ASK ceiling: allow by name");
  EXPECT_EQ(named(list, kPublic, 443, "files.pypi.org"), "ALLOW allow *");
  EXPECT_EQ(named(list, kPublic, 443, "pypi.org"), "DENY ceiling: not in the policy");
  EXPECT_EQ(resolves(list, "pypi.org"), "DENY ceiling: not in the policy");
}

TEST(Decide, PolicyAndCeilingMustMeetAtAPort) {
  const NetRules rules =
      under(policy(NetBase::kNone, {"a.example:80"}), policy(NetBase::kHttpsOnly));
  EXPECT_EQ(resolves(rules, "a.example"), "DENY ceiling: not at these ports");
  EXPECT_EQ(at_connect(rules, kPublic, 80, {"a.example"}), "DENY ceiling: not in the policy");
}

std::string within(const NetPolicy& asked, const NetPolicy& most, const Texts& opened = {}) {
  const NetRules rules = under(asked, most, opened);
  const auto result = check_within(rules.policy, rules.ceiling);
  if (!result) {
    EXPECT_EQ(result.error().code(), Errc::kPolicy);
  }
  return result ? "yes" : result.error().message();
}

TEST(CheckWithin, Bases) {
  EXPECT_EQ(within({}, {}), "yes");
  EXPECT_EQ(within(policy(NetBase::kNone, {}, {"a.example"}), {}), "yes");
  EXPECT_EQ(within(policy(NetBase::kAll), policy(NetBase::kAll)), "yes");
  EXPECT_EQ(within(policy(NetBase::kHttpsOnly), policy(NetBase::kAll)), "yes");
  EXPECT_EQ(within(policy(NetBase::kHttpsOnly), policy(NetBase::kHttpsOnly)), "yes");
  EXPECT_EQ(within(policy(NetBase::kAll), policy(NetBase::kHttpsOnly)),
            "\"all\" is more than this server allows: at most \"https-only\"");
  EXPECT_EQ(within(policy(NetBase::kHttpsOnly), {}),
            "\"https-only\" is more than this server allows: it allows no network");
  EXPECT_EQ(within(policy(NetBase::kAll), policy(NetBase::kNone, {"pypi.org"})),
            "\"all\" is more than this server allows: only some names and addresses");
  EXPECT_EQ(within(policy(NetBase::kHttpsOnly), policy(NetBase::kNone, {"*:443"})), "yes");
  EXPECT_NE(within(policy(NetBase::kAll), policy(NetBase::kNone, {"*:443"})), "yes");
  EXPECT_EQ(within(policy(NetBase::kAll), policy(NetBase::kNone, {"*"})), "yes");
}

TEST(CheckWithin, EveryAllowRuleIsCovered) {
  const NetPolicy list = policy(NetBase::kNone, {"*.pypi.org:443", "8.8.0.0/16"});
  EXPECT_EQ(within(policy(NetBase::kNone, {"files.pypi.org:443", "8.8.8.8:53"}), list), "yes");
  EXPECT_EQ(within(policy(NetBase::kNone, {"files.pypi.org"}), list),
            "allow files.pypi.org is more than this server allows");
  EXPECT_NE(within(policy(NetBase::kNone, {"pypi.org:443"}), list), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"8.0.0.0/8"}), list), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"*"}), list), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"files.pypi.org:443", "evil.example"}), list), "yes");

  const NetPolicy https = policy(NetBase::kHttpsOnly);
  EXPECT_EQ(within(policy(NetBase::kNone, {"pypi.org:443", "*.pypi.org:443"}), https), "yes");
  EXPECT_EQ(within(policy(NetBase::kNone, {"pypi.org"}), https),
            "allow pypi.org is more than this server allows: names at port 443, such as "
            "example.com:443");
  // Exactly that port, and not a range that begins or ends there.
  for (const char* range : {"pypi.org:443-444", "pypi.org:442-443", "pypi.org:1-65535"}) {
    EXPECT_EQ(within(policy(NetBase::kNone, {range}), https),
              "allow " + NetRule::parse(range)->text() +
                  " is more than this server allows: names at port 443, such as example.com:443");
  }
  EXPECT_NE(within(policy(NetBase::kNone, {"8.8.8.8:443"}), https), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"*:443"}), https), "yes");
  EXPECT_EQ(within(policy(NetBase::kNone, {"*", "8.8.8.8"}), policy(NetBase::kAll)), "yes");
}

TEST(CheckWithin, WhatTheCeilingDeniesWholly) {
  const NetPolicy most = policy(NetBase::kAll, {}, {"*.evil.example", "8.8.8.0/24", "*:25"});
  EXPECT_EQ(within(policy(NetBase::kNone, {"a.evil.example:443"}), most),
            "allow a.evil.example:443: this server denies *.evil.example");
  EXPECT_NE(within(policy(NetBase::kNone, {"8.8.8.8"}), most), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"mail.example:25"}), most), "yes");
  // In part only: the gateway denies that part.
  EXPECT_EQ(within(policy(NetBase::kNone, {"*.example", "8.8.0.0/16", "mail.example"}), most),
            "yes");
  EXPECT_EQ(within(policy(NetBase::kAll), most), "yes");
  const NetPolicy except = policy(NetBase::kAll, {"good.evil.example"}, {"*.evil.example"}, true);
  EXPECT_EQ(within(policy(NetBase::kNone, {"good.evil.example"}), except), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"bad.evil.example"}), except), "yes");
}

TEST(CheckWithin, Budgets) {
  NetPolicy most = policy(NetBase::kAll);
  most.budgets = {.bytes_out = std::nullopt, .connections = 100, .names = 10};
  NetPolicy asked = policy(NetBase::kAll);
  EXPECT_EQ(within(asked, most), "yes");
  asked.budgets = {.bytes_out = 1'000'000'000, .connections = 100, .names = 10};
  EXPECT_EQ(within(asked, most), "yes");
  asked.budgets.names = 11;
  EXPECT_EQ(within(asked, most), "budgets.names is more than this server allows: at most 10");
  asked.budgets.connections = 101;
  EXPECT_NE(within(asked, most), "yes");
  asked.base = NetBase::kNone;  // allows nothing, so it asks for nothing
  EXPECT_EQ(within(asked, most), "yes");
}

TEST(CheckWithin, AReservedRangeIsWithinACeilingForAnyAddressOnlyIfItIsNamed) {
  NetCeiling ceiling{.policy = policy(NetBase::kNone, {"10.0.0.7/32:3141"}), .opened = {}};
  const NetPolicy asked = policy(NetBase::kNone, {"10.0.0.7/32:3141"});
  EXPECT_FALSE(check_within(asked, ceiling));
  ceiling.any_address = true;
  EXPECT_TRUE(check_within(asked, ceiling));
  EXPECT_FALSE(check_within(policy(NetBase::kNone, {"10.0.0.8/32:3141"}), ceiling));
  EXPECT_FALSE(check_within(policy(NetBase::kNone, {"10.0.0.7/32"}), ceiling));
  EXPECT_FALSE(check_within(policy(NetBase::kAll), ceiling));
}

TEST(CheckWithin, ReservedRanges) {
  const NetPolicy all = policy(NetBase::kAll, {"*"}, {}, true);
  EXPECT_EQ(within(policy(NetBase::kNone, {"10.1.0.0/16"}), all),
            "allow 10.1.0.0/16: a reserved range (private) that this server's administrator "
            "has not opened");
  EXPECT_NE(within(policy(NetBase::kNone, {"169.254.169.254"}), all), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"[::ffff:127.0.0.1]:80"}), all), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"::1"}), all), "yes");
  EXPECT_EQ(within(policy(NetBase::kNone, {"10.1.0.0/16"}), all, {"10.0.0.0/8"}), "yes");
  EXPECT_EQ(within(policy(NetBase::kNone, {"10.0.0.0/8"}), all, {"10.1.0.0/16"}), "yes");
  EXPECT_NE(within(policy(NetBase::kNone, {"10.1.0.0/16"}), all, {"10.2.0.0/16"}), "yes");
  EXPECT_EQ(within(policy(NetBase::kNone, {"0.0.0.0/0"}), all), "yes");
  // To deny what cannot be reached is no mistake.
  EXPECT_EQ(within(policy(NetBase::kAll, {}, {"10.0.0.0/8"}), all), "yes");
}

}  // namespace
}  // namespace glovebox::net
