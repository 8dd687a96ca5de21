#include "store/sign_in_ring.h"

#include <algorithm>
#include <utility>

namespace glovebox::store {

std::vector<std::string> SignInRing::add(const SignIn& sign_in) {
  std::vector<std::string> removed;
  std::vector<std::pair<std::int64_t, std::string>> own;
  const std::lock_guard lock(mutex_);
  for (const auto& [digest, other] : by_digest_) {
    if (other.expires_ms <= sign_in.created_ms) {
      removed.push_back(digest);
    } else if (other.key == sign_in.key && other.kind == sign_in.kind) {
      own.emplace_back(other.created_ms, digest);
    }
  }
  if (own.size() >= kMaxSignInsPerKey) {
    std::sort(own.begin(), own.end());
    for (std::size_t i = 0; i + kMaxSignInsPerKey <= own.size(); ++i) {
      removed.push_back(own[i].second);
    }
  }
  for (const std::string& digest : removed) by_digest_.erase(digest);
  by_digest_.insert_or_assign(sign_in.digest, sign_in);
  return removed;
}

// The digest of what was presented is looked up, not what was presented: as KeyRing says, how long
// that takes does not help to find the secret.
std::optional<SignIn> SignInRing::find(const std::string& digest, SignInKind kind,
                                       std::int64_t now_ms) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end() || found->second.kind != kind) return std::nullopt;
  if (found->second.expires_ms <= now_ms) return std::nullopt;
  return found->second;
}

std::optional<SignIn> SignInRing::take(const std::string& digest, SignInKind kind,
                                       std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const auto found = by_digest_.find(digest);
  if (found == by_digest_.end() || found->second.kind != kind) return std::nullopt;
  SignIn taken = std::move(found->second);
  by_digest_.erase(found);
  if (taken.expires_ms <= now_ms) return std::nullopt;
  return taken;
}

std::vector<std::string> SignInRing::take_of(const KeyId& key) {
  std::vector<std::string> digests;
  const std::lock_guard lock(mutex_);
  for (auto it = by_digest_.begin(); it != by_digest_.end();) {
    if (it->second.key == key) {
      digests.push_back(it->first);
      it = by_digest_.erase(it);
    } else {
      ++it;
    }
  }
  return digests;
}

}  // namespace glovebox::store
