#include "confine/server_user.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <vector>

namespace glovebox::confine {
namespace {

constexpr rlim_t kWantedFiles = 1 << 20;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The ids of the first line whose name or uid is `user`.
std::optional<ServerIds> look_up(const std::string& user, const std::string& passwd_file) {
  std::ifstream file(passwd_file);
  for (std::string line; std::getline(file, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ':') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    if (fields.size() < 4 || (fields[0] != user && fields[2] != user)) continue;
    const auto uid = number(fields[2]);
    const auto gid = number(fields[3]);
    if (uid && gid) return ServerIds{*uid, *gid};
  }
  return std::nullopt;
}

// Every connection and every sandbox is a descriptor. Only root may raise the hard limit; what
// cannot be raised stays, and the server has its own bound on connections.
void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_max < kWantedFiles) {
    const rlimit more{kWantedFiles, kWantedFiles};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) return;
  }
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<> drop_bounding_set() {
  for (int capability = 0; capability < 64; ++capability) {
    if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) < 0) break;  // past the kernel's last
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      return fail(Error::from_errno("drop the capability bounding set"));
    }
  }
  return {};
}

Result<> change_ids(ServerIds ids) {
  // Groups first, then the group, then the user: each needs the root that the last one gives up.
  if (::setgroups(0, nullptr) != 0) return fail(Error::from_errno("drop the groups"));
  if (::setresgid(ids.gid, ids.gid, ids.gid) != 0) return fail(Error::from_errno("set the group"));
  if (::setresuid(ids.uid, ids.uid, ids.uid) != 0) return fail(Error::from_errno("set the user"));
  return {};
}

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
};

Result<> clear_capabilities() {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    return fail(Error::from_errno("clear the ambient capabilities"));
  }
  Capabilities none;
  if (::syscall(SYS_capset, &none.header, none.data) != 0) {
    return fail(Error::from_errno("clear the capabilities"));
  }
  return {};
}

Result<> check_root_is_gone(ServerIds ids) {
  uid_t uids[3];
  gid_t gids[3];
  if (::getresuid(&uids[0], &uids[1], &uids[2]) != 0 ||
      ::getresgid(&gids[0], &gids[1], &gids[2]) != 0) {
    return fail(Error::from_errno("read the ids"));
  }
  for (int i = 0; i < 3; ++i) {
    if (uids[i] != ids.uid || gids[i] != ids.gid) {
      return fail(Errc::kInternal, "the server's user and group ids did not change");
    }
  }
  if (::getgroups(0, nullptr) != 0) {
    return fail(Errc::kInternal, "supplementary groups were not dropped");
  }
  if (::setresuid(0, 0, 0) == 0 || ::setresgid(0, 0, 0) == 0 || ::setgroups(0, nullptr) == 0) {
    return fail(Errc::kInternal, "the server could become root again");
  }
  return {};
}

Result<> check_no_capabilities() {
  Capabilities left;
  if (::syscall(SYS_capget, &left.header, left.data) != 0) {
    return fail(Error::from_errno("read the capabilities"));
  }
  for (const auto& half : left.data) {
    if ((half.effective | half.permitted | half.inheritable) != 0) {
      return fail(Errc::kInternal, "a capability was kept");
    }
  }
  return {};
}

}  // namespace

Result<ServerIds> find_server_user(const std::string& user, std::uint64_t default_uid,
                                   const std::string& passwd_file) {
  std::optional<ServerIds> found;
  if (user.empty()) {
    found = ServerIds{static_cast<uid_t>(default_uid), static_cast<gid_t>(default_uid)};
  } else {
    found = look_up(user, passwd_file);
    if (const auto uid = number(user); !found && uid) found = ServerIds{*uid, *uid};
  }
  if (!found) return fail(Errc::kNotFound, "server.user: there is no user '" + user + "'");
  // -1 means "leave it as it is" to setresuid.
  if (found->uid == 0 || found->gid == 0 || found->uid == ~0u || found->gid == ~0u) {
    return fail(Errc::kInvalidArgument,
                "server.user: '" + user + "' is root or has root's group; choose another");
  }
  return *found;
}

Result<> become_server_user(ServerIds ids) {
  raise_open_files();
  if (::geteuid() == 0) {
    TRY_OK(drop_bounding_set());  // needs a capability that is about to go
    TRY_OK(change_ids(ids));
    TRY_OK(check_root_is_gone(ids));
  }
  TRY_OK(clear_capabilities());
  TRY_OK(check_no_capabilities());
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return fail(Error::from_errno("forbid new privileges"));
  }
  // Keys are in our memory: no process of this user may trace us or find them in a core file.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return fail(Error::from_errno("forbid dumps"));
  ::umask(077);
  return {};
}

}  // namespace glovebox::confine
