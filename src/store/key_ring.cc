#include "store/key_ring.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/constant_time.h"

namespace glovebox::store {

namespace {

// Fine enough to see which keys are in use, coarse enough to cost nothing.
constexpr std::int64_t kLastUsedGrainMs = 60'000;

}  // namespace

// The digest is uniform already. An attacker who makes digests collide in these bits knows secrets
// of their own only, and keys are made by administrators.
std::size_t KeyRing::DigestHash::operator()(const Digest& digest) const noexcept {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.data(), sizeof hash);
  return hash;
}

void KeyRing::add(const KeyRecord& key) {
  const std::lock_guard lock(mutex_);
  by_digest_.insert_or_assign(key.digest, Entry{.record = key});
  by_id_.insert_or_assign(key.id.str(), key.digest);
}

bool KeyRing::revoke(const KeyId& id, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  for (auto& [digest, entry] : by_digest_) {
    if (entry.record.id != id) continue;
    if (entry.record.revoked_ms) return false;
    entry.record.revoked_ms = now_ms;
    return true;
  }
  return false;
}

// Why a hash table is no timing oracle here: what is looked up and compared is the SHA-256 of what
// was presented, not what was presented. How far the lookup gets depends on how many bits of that
// digest agree with a stored one; to steer it, an attacker would have to find inputs with a chosen
// digest prefix, and even all 256 bits of a stored digest, learnt so, are no step towards its
// preimage, which has 160 random bits. The last comparison takes the same time for any difference
// (the table's own == on a digest decides only after the buckets agreed, and the same holds for
// it).
std::optional<Principal> KeyRing::authenticate(std::string_view presented, std::int64_t now_ms) {
  const std::optional<Digest> digest = digest_of_secret(presented);
  if (!digest) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto found = by_digest_.find(*digest);
  if (found == by_digest_.end()) return std::nullopt;
  const KeyRecord& key = found->second.record;
  const auto bytes = [](const Digest& all) {
    return std::string_view(reinterpret_cast<const char*>(all.data()), all.size());
  };
  if (!equal_in_constant_time(bytes(key.digest), bytes(*digest))) return std::nullopt;
  return use(found->second, now_ms);
}

std::optional<Principal> KeyRing::principal_of(const KeyId& id, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const auto digest = by_id_.find(id.str());
  if (digest == by_id_.end()) return std::nullopt;
  return use(by_digest_.at(digest->second), now_ms);
}

std::optional<Principal> KeyRing::use(Entry& entry, std::int64_t now_ms) {
  KeyRecord& key = entry.record;
  if (key.revoked_ms) return std::nullopt;
  const bool stale = !key.last_used_ms || now_ms - *key.last_used_ms >= kLastUsedGrainMs ||
                     now_ms < *key.last_used_ms;
  if (stale) {
    key.last_used_ms = now_ms;
    entry.used_unsaved = true;
  }
  return Principal{.key = key.id,
                   .project = key.project,
                   .name = key.name,
                   .role = key.role,
                   .limits = key.limits};
}

std::optional<KeyRecord> KeyRing::find(const KeyId& id) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [digest, entry] : by_digest_) {
    if (entry.record.id == id) return entry.record;
  }
  return std::nullopt;
}

std::size_t KeyRing::usable_admin_keys() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(by_digest_.begin(), by_digest_.end(), [](const auto& item) {
        const KeyRecord& key = item.second.record;
        return key.role == KeyRole::kAdmin && !key.revoked_ms;
      }));
}

std::vector<KeyRecord> KeyRing::list(const std::optional<std::string>& project) const {
  std::vector<KeyRecord> keys;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [digest, entry] : by_digest_) {
      if (!project || entry.record.project == *project) keys.push_back(entry.record);
    }
  }
  std::sort(keys.begin(), keys.end(), [](const KeyRecord& a, const KeyRecord& b) {
    return std::tie(a.created_ms, a.id) < std::tie(b.created_ms, b.id);
  });
  return keys;
}

std::vector<std::pair<KeyId, std::int64_t>> KeyRing::take_used() {
  std::vector<std::pair<KeyId, std::int64_t>> used;
  const std::lock_guard lock(mutex_);
  for (auto& [digest, entry] : by_digest_) {
    if (!std::exchange(entry.used_unsaved, false)) continue;
    used.emplace_back(entry.record.id, entry.record.last_used_ms.value_or(0));
  }
  return used;
}

}  // namespace glovebox::store
