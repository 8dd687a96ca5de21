#include "gateway/dns/name_cache.h"

#include <algorithm>
#include <utility>

namespace glovebox::gateway {
namespace {

std::chrono::seconds clipped(const NameAnswer& answer, const NameCacheOptions& options) {
  switch (answer.state) {
    case NameAnswer::State::kFound:
      return std::clamp(answer.ttl, options.min_ttl, options.max_ttl);
    case NameAnswer::State::kNoAddress:
    case NameAnswer::State::kNoName:
      return options.negative_ttl;
    case NameAnswer::State::kNoAnswer:
      break;
  }
  return options.failure_ttl;
}

}  // namespace

std::optional<NameAnswer> NameCache::find(const std::string& tenant, const net::HostName& name,
                                          net::DnsType type, Time now) {
  const auto owner = tenants_.find(tenant);
  if (owner == tenants_.end()) return std::nullopt;
  by_use_.splice(by_use_.end(), by_use_, owner->second.used);
  Tenant& of = owner->second;
  const auto entry = of.entries.find(Key(name, type));
  if (entry == of.entries.end()) return std::nullopt;
  if (entry->second.end <= now) {
    forget(of, entry);
    return std::nullopt;
  }
  of.by_use.splice(of.by_use.end(), of.by_use, entry->second.used);
  NameAnswer answer = entry->second.answer;
  answer.ttl = std::chrono::ceil<std::chrono::seconds>(entry->second.end - now);
  return answer;
}

NameAnswer NameCache::keep(const std::string& tenant, const net::HostName& name, net::DnsType type,
                           NameAnswer answer, Time now) {
  answer.ttl = clipped(answer, options_);
  Tenant& of = tenant_of(tenant);
  const Key key(name, type);
  if (const auto old = of.entries.find(key); old != of.entries.end()) forget(of, old);
  while (of.entries.size() >= std::max<std::size_t>(options_.max_names, 1)) {
    forget(of, of.entries.find(of.by_use.front()));
  }
  const auto used = of.by_use.insert(of.by_use.end(), key);
  of.entries.emplace(key, Entry{.answer = answer, .end = now + answer.ttl, .used = used});
  return answer;
}

std::size_t NameCache::names(const std::string& tenant) const {
  const auto owner = tenants_.find(tenant);
  return owner == tenants_.end() ? 0 : owner->second.entries.size();
}

void NameCache::forget(Tenant& tenant, std::map<Key, Entry>::iterator entry) {
  tenant.by_use.erase(entry->second.used);
  tenant.entries.erase(entry);
}

NameCache::Tenant& NameCache::tenant_of(const std::string& tenant) {
  if (const auto owner = tenants_.find(tenant); owner != tenants_.end()) {
    by_use_.splice(by_use_.end(), by_use_, owner->second.used);
    return owner->second;
  }
  while (tenants_.size() >= std::max<std::size_t>(options_.max_tenants, 1)) {
    tenants_.erase(by_use_.front());
    by_use_.pop_front();
  }
  Tenant& made = tenants_[tenant];
  made.used = by_use_.insert(by_use_.end(), tenant);
  return made;
}

}  // namespace glovebox::gateway
