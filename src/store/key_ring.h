// All keys in memory, so that authenticating a request touches no disk. Loaded when the store is
// opened, changed together with the table; a revoked key stops working at once.
// Thread-safe: requests read it on the server's thread, the store's thread changes it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "store/key.h"

namespace glovebox::store {

class KeyRing {
 public:
  void add(const KeyRecord& key);
  // False: no such key, or it was revoked before.
  bool revoke(const KeyId& id, std::int64_t now_ms);

  // Empty for anything but the secret of a key that is not revoked.
  std::optional<Principal> authenticate(std::string_view presented, std::int64_t now_ms);

  std::optional<KeyRecord> find(const KeyId& id) const;
  // What the key of this id proves, for those who have shown its secret before. Counts as a use.
  // Nothing: there is no such key, or it was revoked.
  std::optional<Principal> principal_of(const KeyId& id, std::int64_t now_ms);
  std::size_t usable_admin_keys() const;
  // Oldest first.
  std::vector<KeyRecord> list(const std::optional<std::string>& project) const;

  // Keys used since the previous call, and when.
  std::vector<std::pair<KeyId, std::int64_t>> take_used();

 private:
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const noexcept;
  };
  struct Entry {
    KeyRecord record;
    bool used_unsaved = false;
  };

  static std::optional<Principal> use(Entry& entry, std::int64_t now_ms);

  mutable std::mutex mutex_;
  std::unordered_map<Digest, Entry, DigestHash> by_digest_;
  std::unordered_map<std::string, Digest> by_id_;
};

}  // namespace glovebox::store
