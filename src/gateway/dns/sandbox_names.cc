#include "gateway/dns/sandbox_names.h"

#include <sys/random.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"

namespace glovebox::gateway {
namespace {

using State = NameAnswer::State;

constexpr std::uint32_t kRefusalsPerSecond = 50;
constexpr std::uint32_t kRefusalsAtOnce = 100;
constexpr std::uint32_t kMaxTtl = 60;

const std::string kRate = "rate: names";

// An allowed name that is an alias of a denied one is denied too. Rules for every name are not
// applied to aliases: they were applied to the name itself.
std::optional<std::string> denied_alias(const net::NetPolicy& policy, const net::HostName& name,
                                        std::span<const net::HostName> aliases) {
  const auto allows = [&](const net::NetRule& rule) { return rule.matches(name); };
  if (policy.allow_wins && std::any_of(policy.allow.begin(), policy.allow.end(), allows)) {
    return std::nullopt;
  }
  for (const net::NetRule& rule : policy.deny) {
    const bool is_named = std::holds_alternative<net::HostName>(rule.target) ||
                          std::holds_alternative<net::NamesBelow>(rule.target);
    if (!is_named || !rule.ports.is_all()) continue;
    for (const net::HostName& alias : aliases) {
      if (rule.matches(alias)) return "deny " + rule.text();
    }
  }
  return std::nullopt;
}

std::optional<std::string> denied_alias(const net::NetRules& rules, const net::HostName& name,
                                        std::span<const net::HostName> aliases) {
  if (auto rule = denied_alias(rules.policy, name, aliases)) return rule;
  if (auto rule = denied_alias(rules.ceiling.policy, name, aliases)) return "ceiling: " + *rule;
  return std::nullopt;
}

}  // namespace

std::shared_ptr<SandboxNames> SandboxNames::make(Resolver& resolver, SandboxNamesOptions options,
                                                 std::shared_ptr<const net::NetRules> rules,
                                                 Decided decided, Now now) {
  if (!now) now = [] { return std::chrono::steady_clock::now(); };
  return std::shared_ptr<SandboxNames>(new SandboxNames(
      resolver, std::move(options), std::move(rules), std::move(decided), std::move(now)));
}

SandboxNames::SandboxNames(Resolver& resolver, SandboxNamesOptions options,
                           std::shared_ptr<const net::NetRules> rules, Decided decided, Now now)
    : resolver_(resolver),
      options_(std::move(options)),
      rules_(std::move(rules)),
      decided_(std::move(decided)),
      now_(std::move(now)),
      questions_(options_.per_second, options_.burst),
      refusals_(kRefusalsPerSecond, kRefusalsAtOnce) {
  GBX_ASSERT(::getrandom(&salt_, sizeof salt_, 0) == sizeof salt_);
}

void SandboxNames::set_max_names(std::uint64_t most) {
  options_.max_names = most;
  if (counted_.size() < most) spent_ = false;
}

void SandboxNames::close() {
  closed_ = true;
  decided_ = nullptr;
}

SandboxNames::Rate SandboxNames::take_question() {
  if (questions_.take(now_())) return Rate::kWithin;
  return refusals_.take(now_()) ? Rate::kRefused : Rate::kSilent;
}

std::chrono::nanoseconds SandboxNames::silence_time() const {
  return std::min(questions_.wait(now_()), refusals_.wait(now_()));
}

// Distinct names are counted by a keyed hash: eight bytes each, whatever their length and however
// many an administrator allows.
bool SandboxNames::count(const net::HostName& name) {
  const std::uint64_t hash =
      std::hash<std::string>()(name.str() + std::string(1, '\0') + std::to_string(salt_));
  if (counted_.contains(hash)) return true;
  if (counted_.size() >= options_.max_names) {
    spent_ = true;
    return false;
  }
  counted_.insert(hash);
  return true;
}

// Called before any query for a name is sent.
SandboxNames::Admission SandboxNames::admit(const net::HostName& name) {
  Admission admission{.verdict = net::may_resolve(*rules_, name)};
  if (!admission.verdict.allowed) {
    admission.code = net::DnsCode::kNxDomain;
  } else if (!count(name)) {
    admission.verdict = {.allowed = false, .rule = "budget: names"};
    admission.code = net::DnsCode::kRefused;
  }
  return admission;
}

// The answer that is known without a query.
std::optional<NameAnswer> SandboxNames::find_now(const net::HostName& name, net::DnsType type) {
  if (options_.hosts != nullptr) {
    if (auto written = options_.hosts->find(name, type, now_())) return written;
  }
  return resolver_.find_now(options_.tenant, name, type);
}

NameReply SandboxNames::refused(net::DnsCode code, std::string why) {
  return NameReply{.code = code, .addresses = {}, .ttl_s = 0, .why = std::move(why)};
}

NameReply SandboxNames::refuse_by_rate() {
  note(false, "", "", kRate);
  return refused(net::DnsCode::kRefused, kRate);
}

std::optional<NameReply> SandboxNames::reply_now(const net::DnsQuery& query) {
  if (closed_) return refused(net::DnsCode::kServFail, "");
  const bool is_a = query.type == static_cast<std::uint16_t>(net::DnsType::kA);
  const bool is_aaaa = query.type == static_cast<std::uint16_t>(net::DnsType::kAaaa);
  if (!is_a && !is_aaaa) {
    // HTTPS and SVCB records could make a client hide the server name; others are not needed.
    const net::Verdict verdict = net::may_resolve(*rules_, query.name);
    if (verdict.allowed) return refused(net::DnsCode::kNoError, "");
    note(false, query.name.str(), "", verdict.rule);
    return refused(net::DnsCode::kNxDomain, verdict.rule);
  }
  const Admission admission = admit(query.name);
  if (!admission.verdict.allowed) {
    note(false, query.name.str(), "", admission.verdict.rule);
    return refused(admission.code, admission.verdict.rule);
  }
  const net::DnsType type = is_a ? net::DnsType::kA : net::DnsType::kAaaa;
  if (const auto known = find_now(query.name, type)) {
    return reply_from(query.name, type, *known);
  }
  if (open_ >= options_.max_open) return refuse_by_rate();
  return std::nullopt;
}

namespace {

struct Open {
  explicit Open(std::size_t& one) : count(one) { ++count; }
  ~Open() { --count; }
  std::size_t& count;
};

}  // namespace

asio::awaitable<NameReply> SandboxNames::resolve_and_reply(std::shared_ptr<SandboxNames> self,
                                                           net::DnsQuery query) {
  const Open counted(self->open_);
  const net::DnsType type = static_cast<net::DnsType>(query.type);
  const NameAnswer answer = co_await self->resolver_.find(self->options_.tenant, query.name, type);
  if (self->closed_) co_return self->refused(net::DnsCode::kServFail, "");
  co_return self->reply_from(query.name, type, answer);
}

// Filters an answer by the current rules, which may have changed since the query.
NameReply SandboxNames::reply_from(const net::HostName& name, net::DnsType type,
                                   const NameAnswer& answer) {
  const net::Verdict verdict = net::may_resolve(*rules_, name);
  std::optional<std::string> denied;
  if (!verdict.allowed) denied = verdict.rule;
  if (!denied) denied = denied_alias(*rules_, name, answer.aliases);
  if (denied) {
    note(false, name.str(), "", *denied);
    return refused(net::DnsCode::kNxDomain, *denied);
  }
  switch (answer.state) {
    case State::kFound:
      break;
    case State::kNoAddress:
      // On hosts without IPv6 this is so for every AAAA query: not logged.
      if (type == net::DnsType::kA) note(true, name.str(), "", "no address");
      return refused(net::DnsCode::kNoError, "");
    case State::kNoName:
      note(true, name.str(), "", "no such name");
      return refused(net::DnsCode::kNxDomain, "");
    case State::kNoAnswer:
      note(true, name.str(), "", "no answer");
      return refused(net::DnsCode::kServFail, "");
  }
  NameReply reply{
      .code = net::DnsCode::kNoError,
      .addresses = {},
      .ttl_s = static_cast<std::uint32_t>(std::clamp<std::int64_t>(answer.ttl.count(), 0, kMaxTtl)),
      .why = ""};
  std::string withheld;
  for (const net::IpAddress& address : answer.addresses) {
    const net::Verdict place = net::may_be_at(*rules_, address);
    if (!place.allowed) {
      if (withheld.empty()) note(false, name.str(), address.text(), place.rule);
      withheld = place.rule;
    } else if (address.is_v4() == (type == net::DnsType::kA) &&
               reply.addresses.size() < kMaxAddressesPerReply) {
      reply.addresses.push_back(address);
    }
  }
  if (reply.addresses.empty()) {
    reply.why = withheld;
    return reply;
  }
  pins_.add(name, reply.addresses, now_());
  const net::IpAddress& least = *std::min_element(reply.addresses.begin(), reply.addresses.end());
  note(true, name.str(), least.text(), verdict.rule);
  return reply;
}

std::vector<net::HostName> SandboxNames::names_of(const net::IpAddress& address) const {
  return pins_.names_of(address, now_());
}

asio::awaitable<net::Verdict> SandboxNames::confirm(std::shared_ptr<SandboxNames> self,
                                                    net::HostName name, net::IpAddress address) {
  net::Verdict verdict{.allowed = false, .rule = kRate};
  if (self->closed_) co_return net::Verdict{};
  if (self->pins_.has(name, address, self->now_())) {
    verdict = {.allowed = true, .rule = "resolved"};
    co_return verdict;
  }
  if (self->open_ >= self->options_.max_open || !self->questions_.take(self->now_())) {
    co_return verdict;
  }
  verdict = self->admit(name).verdict;
  if (!verdict.allowed) co_return verdict;
  const Open counted(self->open_);
  const net::DnsType type = address.is_v4() ? net::DnsType::kA : net::DnsType::kAaaa;
  NameAnswer answer;
  if (auto known = self->find_now(name, type)) {
    answer = std::move(*known);
  } else {
    answer = co_await self->resolver_.find(self->options_.tenant, name, type);
  }
  verdict = net::may_resolve(*self->rules_, name);
  if (self->closed_ || !verdict.allowed) {
    verdict.allowed = false;
    co_return verdict;
  }
  if (auto denied = denied_alias(*self->rules_, name, answer.aliases)) {
    verdict = {.allowed = false, .rule = std::move(*denied)};
  } else if (answer.state == State::kNoAnswer) {
    verdict = {.allowed = false, .rule = "no answer"};
  } else if (std::find(answer.addresses.begin(), answer.addresses.end(), address) ==
             answer.addresses.end()) {
    verdict = {.allowed = false, .rule = "not an address of this name"};
  } else {
    self->pins_.add(name, std::span(&address, 1), self->now_());
    self->note(true, name.str(), address.text(), verdict.rule);
  }
  co_return verdict;
}

void SandboxNames::note(bool allowed, std::string name, std::string address, std::string rule) {
  if (!decided_) return;
  wire::NetDecision decision;
  decision.what = wire::NetDecision::What::kResolve;
  decision.allowed = allowed;
  decision.name = std::move(name);
  decision.address = std::move(address);
  decision.rule = std::move(rule);
  decided_(std::move(decision));
}

}  // namespace glovebox::gateway
