// The ids that /etc/subuid and /etc/subgid give to a user: ids of the host that belong to no
// account, and that the user may map into user namespaces with newuidmap and newgidmap (Debian's
// package uidmap). newuidmap checks only that the range is the user's; that no other user has it
// is checked here, because a sandbox's kernel uids must belong to that sandbox alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct IdRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool operator==(const IdRange&) const = default;
  std::uint64_t end() const { return std::uint64_t{first} + count; }
  bool overlaps(const IdRange& other) const { return first < other.end() && other.first < end(); }
};

// Of one user. As many gids as uids.
struct SubordinateIds {
  IdRange uids{};
  IdRange gids{};
};

struct AccountId {
  std::string_view name{};  // empty: it has none
  std::uint32_t id = 0;
};

// Ids below this belong to accounts, whether or not /etc/passwd lists them.
inline constexpr std::uint32_t kFirstSubordinateId = 65'536;

// Wherever it begins, it has a whole slice of a sandbox (launcher/sandbox/slices.h).
inline constexpr std::uint32_t kLeastSubordinateIds = 4'095;

// The widest range that `text`, in the format of /etc/subuid, gives to the user. `taken`: ranges
// that no user may have. kNotFound: the user has none. kPolicy: it has one that cannot be used; the
// message says why.
Result<IdRange> subordinate_range(std::string_view text, const AccountId& user,
                                  std::span<const IdRange> taken);

// What this process' user has. `reserved`: what a launcher of root gives to its sandboxes.
Result<SubordinateIds> read_subordinate_ids(const IdRange& reserved);

// A free range for a user who has none, behind all that are given.
IdRange free_subordinate_range(std::string_view subuid, std::string_view subgid);

// The two programs, where they are and with the privileges that they need.
inline constexpr const char* kNewUidMap = "/usr/bin/newuidmap";
inline constexpr const char* kNewGidMap = "/usr/bin/newgidmap";
bool has_id_mappers();

// For an ordinary user, by trying it; root needs none.
struct SubordinateFacts {
  bool is_root = false;
  bool has_mappers = false;
  IdRange uids{};  // of the user; none: `refusal` says why
  std::string refusal{};
  Attempt mapped{};       // both maps, by both programs
  Attempt user_xattrs{};  // of a tmpfs in a user namespace, to which a session writes
  std::string user{};     // for the commands
  IdRange free_range{};   // likewise
};
SubordinateFacts probe_subordinate_ids();
void explain(const SubordinateFacts& facts, Findings& findings);

}  // namespace glovebox::probe
