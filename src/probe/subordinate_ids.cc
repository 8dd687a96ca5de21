#include "probe/subordinate_ids.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <vector>

#include "probe/kernel_text.h"
#include "probe/own_user.h"
#include "sys/id_mappers.h"

namespace glovebox::probe {
namespace {

// The last two numbers are no ids: -1 means "leave it", and -2 is some systems' nobody.
constexpr std::uint64_t kEndOfIds = std::numeric_limits<std::uint32_t>::max() - 1;
// What newuidmap reads of a file is bounded by nothing; what we read is.
constexpr std::size_t kMaxLines = 65'536;
// The policy's default.
constexpr IdRange kSandboxesOfRoot{1'879'048'192, 268'304'384};
constexpr std::chrono::seconds kMapDeadline{12};

struct Line {
  std::string_view owner;
  IdRange range;
};

std::optional<Line> parse_line(std::string_view text) {
  const std::vector<std::string_view> fields = split(trim(text), ':');
  if (fields.size() != 3 || fields[0].empty() || fields[0][0] == '#') return std::nullopt;
  const auto first = parse_number(fields[1]);
  const auto count = parse_number(fields[2]);
  constexpr auto kMost = static_cast<std::int64_t>(kEndOfIds);
  if (!first || !count || *first < 0 || *count <= 0 || *first > kMost || *count > kMost) {
    return std::nullopt;
  }
  return Line{fields[0], {static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*count)}};
}

std::vector<Line> parse_lines(std::string_view text) {
  std::vector<Line> lines;
  for (const std::string_view one : split(text, '\n')) {
    if (const auto line = parse_line(one)) lines.push_back(*line);
    if (lines.size() == kMaxLines) break;
  }
  return lines;
}

std::string dashed(const IdRange& range) {
  return std::to_string(range.first) + "-" + std::to_string(range.end() - 1);
}

// In a helper.
Attempt map_all(const SubordinateIds& ids) {
  auto mappers = sys::IdMappers::prepare({::geteuid(), ids.uids.first, ids.uids.count},
                                         {::getegid(), ids.gids.first, ids.gids.count});
  if (!mappers) return Attempt::failed(mappers.error().message(), -1);
  if (::unshare(CLONE_NEWUSER) != 0) return Attempt::failed("create a user namespace");
  for (const Result<>& written : {mappers->write_uids(), mappers->write_gids()}) {
    if (!written) return Attempt::failed(written.error().message(), -1);
  }
  return Attempt::worked();
}

// In a helper. Without them overlayfs cannot rename a directory, as dpkg does.
Attempt set_a_user_xattr() {
  Attempt entered = enter_private_mounts(Way::kUserNamespace);
  if (!entered.ok()) return entered;
  constexpr const char* kPlace = "/tmp";
  if (::mount("glovebox", kPlace, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") != 0) {
    return Attempt::failed("mount tmpfs");
  }
  if (::setxattr(kPlace, "user.glovebox", "y", 1, 0) != 0) return Attempt::failed("set user xattr");
  return Attempt::worked();
}

std::string describe(const IdRange& range) {
  return std::to_string(range.first) + " to " + std::to_string(range.end() - 1);
}

// Why the range cannot be used; empty: it can.
std::string objection(const Line& line, std::span<const Line> others,
                      std::span<const IdRange> taken) {
  const IdRange& range = line.range;
  if (range.end() > kEndOfIds) return "it ends beyond the last id";
  if (range.first < kFirstSubordinateId) {
    return "ids below " + std::to_string(kFirstSubordinateId) + " belong to accounts";
  }
  for (const Line& other : others) {
    if (other.range.overlaps(range)) {
      return "it overlaps with " + describe(other.range) + " of " + std::string(other.owner);
    }
  }
  for (const IdRange& one : taken) {
    if (!one.overlaps(range)) continue;
    if (one.count == 1) return "id " + std::to_string(one.first) + " belongs to an account";
    return "it overlaps with " + describe(one) + ", which a launcher of root gives to sandboxes";
  }
  if (range.count < kLeastSubordinateIds) {
    return "it has fewer than " + std::to_string(kLeastSubordinateIds) + " ids";
  }
  return {};
}

// The ids of all accounts, from a file in the format of /etc/passwd or /etc/group.
void add_accounts(std::string_view text, std::vector<IdRange>& taken) {
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    const auto id = fields.size() > 2 ? parse_number(fields[2]) : std::nullopt;
    if (id && *id >= 0 && *id < static_cast<std::int64_t>(kEndOfIds)) {
      taken.push_back({static_cast<std::uint32_t>(*id), 1});
    }
  }
}

Result<IdRange> range_in(const char* file, const char* accounts, const AccountId& user,
                         const IdRange& reserved) {
  std::vector<IdRange> taken = {{user.id, 1}};
  if (reserved.count != 0) taken.push_back(reserved);
  add_accounts(read_text(accounts).value_or(""), taken);
  auto range = subordinate_range(read_text(file).value_or(""), user, taken);
  if (!range) return fail(std::move(range.error()).context(file));
  return range;
}

bool is_privileged(const char* path) {
  struct stat seen {};
  if (::stat(path, &seen) != 0 || seen.st_uid != 0) return false;
  return (seen.st_mode & S_ISUID) != 0 || ::getxattr(path, "security.capability", nullptr, 0) > 0;
}

}  // namespace

Result<IdRange> subordinate_range(std::string_view text, const AccountId& user,
                                  std::span<const IdRange> taken) {
  const std::string number = std::to_string(user.id);
  std::vector<Line> own;
  std::vector<Line> others;
  for (const Line& line : parse_lines(text)) {
    const bool is_own = line.owner == number || (!user.name.empty() && line.owner == user.name);
    (is_own ? own : others).push_back(line);
  }
  if (own.empty()) return fail(Errc::kNotFound, "it gives no ids to this user");
  std::stable_sort(own.begin(), own.end(), [](const Line& one, const Line& other) {
    return one.range.count > other.range.count;
  });
  std::string why;
  for (const Line& line : own) {
    const std::string against = objection(line, others, taken);
    if (against.empty()) return line.range;
    if (why.empty()) why = "the range " + describe(line.range) + " cannot be used: " + against;
  }
  return fail(Errc::kPolicy, why);
}

Result<SubordinateIds> read_subordinate_ids(const IdRange& reserved) {
  const std::string name = own_user_name();
  SubordinateIds ids;
  TRY(ids.uids, range_in("/etc/subuid", "/etc/passwd", {name, ::geteuid()}, reserved));
  // Lines of /etc/subgid name users, too; as a number it is the user's, not the group's.
  TRY(ids.gids, range_in("/etc/subgid", "/etc/group", {name, ::geteuid()}, reserved));
  const std::uint32_t count = std::min(ids.uids.count, ids.gids.count);
  ids.uids.count = count;
  ids.gids.count = count;
  return ids;
}

IdRange free_subordinate_range(std::string_view subuid, std::string_view subgid) {
  constexpr std::uint32_t kCount = 65'536;
  // shadow's useradd begins at 100,000; the next multiple of the count is a whole number of slices.
  std::uint64_t first = 2 * kCount;
  for (const std::string_view text : {subuid, subgid}) {
    for (const Line& line : parse_lines(text)) {
      // Ranges far up are directory services' own; between them and the others there is room.
      constexpr std::uint64_t kFarUp = 1u << 30;
      if (line.range.end() < kFarUp) first = std::max(first, line.range.end());
    }
  }
  first = (first + kCount - 1) / kCount * kCount;
  return {static_cast<std::uint32_t>(first), kCount};
}

SubordinateFacts probe_subordinate_ids() {
  SubordinateFacts facts;
  facts.is_root = ::geteuid() == 0;
  if (facts.is_root) return facts;
  facts.has_mappers = has_id_mappers();
  facts.user = own_user_name_or_id();
  facts.free_range = free_subordinate_range(read_text("/etc/subuid").value_or(""),
                                            read_text("/etc/subgid").value_or(""));
  auto ids = read_subordinate_ids(kSandboxesOfRoot);
  if (!ids) {
    facts.refusal = ids.error().message();
    return facts;
  }
  facts.uids = ids->uids;
  if (facts.has_mappers) {
    facts.mapped = attempt_in_helper([&] { return map_all(*ids); }, kMapDeadline);
    facts.user_xattrs = attempt_in_helper(set_a_user_xattr);
  }
  return facts;
}

void explain(const SubordinateFacts& facts, Findings& findings) {
  if (facts.is_root) return;
  Finding finding{"user namespaces", "subordinate ids", State::kWarn, "", ""};
  const std::string add = "sudo usermod --add-subuids " + dashed(facts.free_range) +
                          " --add-subgids " + dashed(facts.free_range) + " " + facts.user;
  const std::string install = "sudo apt install uidmap";
  constexpr const char* kWithout = "; sessions have one user, and no root or sudo inside";
  if (facts.uids.count == 0) {
    finding.detail = facts.refusal + kWithout;
    finding.fix = (facts.has_mappers ? "" : install + " && ") + add;
  } else if (!facts.has_mappers) {
    finding.detail =
        std::string("newuidmap is not installed, or without its privileges") + kWithout;
    finding.fix = install;
  } else if (!facts.mapped.ok()) {
    finding.detail = facts.mapped.why() + kWithout;
    finding.fix =
        "start glovebox where setuid programs work: not with no_new_privs, and not on a "
        "nosuid mount";
  } else {
    finding.state = State::kOk;
    finding.detail = describe(facts.uids) +
                     ", mapped by newuidmap: sessions have uids of their own, root and sudo inside";
    if (!facts.user_xattrs.ok()) finding.detail += "; dpkg in them needs Linux 6.6";
  }
  findings.push_back(std::move(finding));
}

bool has_id_mappers() { return is_privileged(kNewUidMap) && is_privileged(kNewGidMap); }

}  // namespace glovebox::probe
