#include "sys/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdint>

namespace glovebox::sys {
namespace {

// Debian 12's header knows ABI 2; the numbers below are the kernel's, from later ones.
constexpr std::uint64_t kTruncate = 1ull << 14;            // ABI 3
constexpr std::uint64_t kIoctlDev = 1ull << 15;            // ABI 5
constexpr std::uint64_t kNetBindTcp = 1ull << 0;           // ABI 4
constexpr std::uint64_t kNetConnectTcp = 1ull << 1;        // ABI 4
constexpr std::uint64_t kScopeAbstractSocket = 1ull << 0;  // ABI 6
constexpr std::uint64_t kScopeSignal = 1ull << 1;          // ABI 6

struct RulesetAttr {  // as the kernel lays it out at ABI 6
  std::uint64_t handled_access_fs = 0;
  std::uint64_t handled_access_net = 0;
  std::uint64_t scoped = 0;
};

constexpr std::uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kChange = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                  LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                  LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                  LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

std::uint64_t known_at(int abi) {
  std::uint64_t access = kRead | kChange;
  if (abi >= 2) access |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) access |= kTruncate;
  if (abi >= 5) access |= kIoctlDev;
  return access;
}

Result<> allow(int ruleset, const std::string& path, std::uint64_t access) {
  const UniqueFd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) return errno == ENOENT ? Result<>{} : fail(Error::from_errno("open " + path));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail(Error::from_errno("stat " + path));
  if (!S_ISDIR(info.st_mode)) {  // the kernel refuses directory rights on a file
    access &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |
              LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDev;
  }
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = fd.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return fail(Error::from_errno("landlock rule for " + path));
  }
  return {};
}

}  // namespace

int landlock_abi() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Result<UniqueFd> make_landlock_ruleset(int abi, const LandlockPaths& paths) {
  RulesetAttr attr;
  attr.handled_access_fs = known_at(abi);
  if (abi >= 4 && paths.deny_tcp) attr.handled_access_net = kNetBindTcp | kNetConnectTcp;
  if (abi >= 6) attr.scoped = kScopeAbstractSocket | kScopeSignal;
  const std::size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, size, 0)));
  if (!ruleset) return fail(Error::from_errno("landlock ruleset"));
  const std::uint64_t known = known_at(abi);
  for (const std::string& path : paths.readable) {
    TRY_OK(allow(ruleset.get(), path, kRead & known));
  }
  for (const std::string& path : paths.writable) TRY_OK(allow(ruleset.get(), path, known));
  for (const std::string& path : paths.devices) {
    TRY_OK(allow(ruleset.get(), path,
                 (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
                  LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate | kIoctlDev) &
                     known));
  }
  return ruleset;
}

Result<UniqueFd> make_scoping_ruleset() {
  RulesetAttr attr;
  attr.scoped = kScopeAbstractSocket | kScopeSignal;
  UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0)));
  if (!ruleset) return fail(Error::from_errno("landlock ruleset"));
  return ruleset;
}

int enter_landlock(int ruleset_fd) noexcept {
  return ::syscall(SYS_landlock_restrict_self, ruleset_fd, 0) == 0 ? 0 : errno;
}

}  // namespace glovebox::sys
