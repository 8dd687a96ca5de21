#include "attack/attack_targets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/assert.h"
#include "base/hex.h"

extern char** environ;

namespace glovebox::attack {
namespace {

namespace fs = std::filesystem;

// Where the guest sees what is mounted for it.
constexpr const char* kGiftInside = "/mnt/gift";
constexpr const char* kRwInside = "/mnt/rw";
// A user who is neither root nor of any sandbox; the directory is below one that is root's alone.
constexpr uid_t kOrdinaryUid = 1400000000;
// The lowest of the host uids that sandboxes' users are mapped to (docs/architecture.md).
constexpr uid_t kFirstSliceUid = 1879048192;

bool write_text(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path, std::ios::binary) << text;
  return ::chmod(path.c_str(), mode) == 0;
}

std::string read_text(const std::string& path) {
  // Never waits: a guest may have left anything there.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  std::string text;
  char buffer[65536];
  for (ssize_t count; fd && (count = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > (8 << 20)) break;
  }
  return text;
}

Result<UniqueFd> listen_on(const sockaddr* address, socklen_t size) {
  UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // No process accepts: the backlog is enough for a connection.
  if (!fd || ::bind(fd.get(), address, size) != 0 || ::listen(fd.get(), 128) != 0) {
    return fail(Error::from_errno("listen"));
  }
  return fd;
}

template <class Address>
int port_of(const UniqueFd& fd) {
  Address address{};
  socklen_t size = sizeof address;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  if constexpr (std::is_same_v<Address, sockaddr_in>)
    return ntohs(address.sin_port);
  else
    return ntohs(address.sin6_port);
}

}  // namespace

std::string random_hex(size_t bytes) {
  std::string random(bytes, '\0');
  // Up to 256 bytes come whole or not at all.
  GBX_ASSERT(::getrandom(random.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  return hex_encode(random);
}

Result<std::unique_ptr<AttackTargets>> AttackTargets::make(const std::string& attacks_program) {
  std::unique_ptr<AttackTargets> made(new AttackTargets);
  made->program_ = attacks_program;
  TRY_OK(made->make_files(attacks_program));
  TRY_OK(made->make_listeners());
  TRY_OK(made->start_victim(attacks_program));
  return made;
}

AttackTargets::~AttackTargets() {
  if (victim_ > 0) {
    victim_input_.reset();
    ::waitpid(victim_, nullptr, 0);
  }
  std::error_code ignored;
  if (!dir_.empty()) fs::remove_all(dir_, ignored);
}

Result<> AttackTargets::make_files(const std::string& attacks_program) {
  // Not /tmp, which on many hosts ignores setuid bits and devices: the controls need both.
  char pattern[] = "/var/tmp/gbx-attack-XXXXXX";
  if (::mkdtemp(pattern) == nullptr) return fail(Error::from_errno("make a directory in /var/tmp"));
  dir_ = pattern;
  canary_ = "gbx-canary-" + random_hex(16);
  env_canary_ = random_hex(16);
  // A setuid program must not be reachable by other users of this host, hence `private`.
  const std::string hidden = dir_ + "/private";
  const std::string gift = hidden + "/gift";
  const std::string rw = hidden + "/rw";
  const std::string rw_user = hidden + "/rw-user";
  std::error_code error;
  if (::chmod(dir_.c_str(), 0755) != 0 || ::mkdir(hidden.c_str(), 0700) != 0 ||
      ::mkdir(gift.c_str(), 0777) != 0 || ::chmod(gift.c_str(), 0777) != 0 ||
      ::mkdir(rw_user.c_str(), 0777) != 0 || ::chmod(rw_user.c_str(), 0777) != 0 ||
      ::mkdir(rw.c_str(), 0777) != 0 || ::chmod(rw.c_str(), 0777) != 0 ||
      !write_text(dir_ + "/canary", canary_ + "\n", 0644) ||
      !write_text(hidden + "/outside", canary_ + "\n", 0644) ||
      !write_text(gift + "/gift.txt", "for reading\n", 0666) ||
      ::symlink((dir_ + "/canary").c_str(), (gift + "/link-to-outside").c_str()) != 0) {
    return fail(Error::from_errno("plant files in " + dir_));
  }
  if (::geteuid() == 0) {
    fs::copy_file(attacks_program, gift + "/suid", error);
    if (error || ::chown(rw_user.c_str(), kOrdinaryUid, kOrdinaryUid) != 0 ||
        ::chmod((gift + "/suid").c_str(), 04755) != 0 ||
        ::mknod((gift + "/zero").c_str(), S_IFCHR | 0666, makedev(1, 5)) != 0 ||
        ::chmod((gift + "/zero").c_str(), 0666) != 0) {
      return fail(Error::from_errno("plant a setuid program in " + gift));
    }
  }
  struct stat program {};
  if (::stat(attacks_program.c_str(), &program) != 0)
    return fail(Error::from_errno("stat program"));
  program_inode_ = std::to_string(major(program.st_dev)) + ":" +
                   std::to_string(minor(program.st_dev)) + ":" + std::to_string(program.st_ino);
  return {};
}

Result<> AttackTargets::make_listeners() {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  TRY(listeners_[0], listen_on(reinterpret_cast<sockaddr*>(&v4), sizeof v4));
  port_ = port_of<sockaddr_in>(listeners_[0]);

  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = in6addr_loopback;
  // A host without IPv6 is a host without this row.
  if (auto listener = listen_on(reinterpret_cast<sockaddr*>(&v6), sizeof v6)) {
    listeners_[1] = std::move(*listener);
    port6_ = port_of<sockaddr_in6>(listeners_[1]);
  }

  sockaddr_un path{};
  path.sun_family = AF_UNIX;
  std::strncpy(path.sun_path, (dir_ + "/socket").c_str(), sizeof path.sun_path - 1);
  TRY(listeners_[2], listen_on(reinterpret_cast<sockaddr*>(&path), sizeof path));
  ::chmod(path.sun_path, 0777);

  abstract_name_ = "gbx-attack-" + random_hex(8);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, abstract_name_.data(), abstract_name_.size());
  TRY(listeners_[3], listen_on(reinterpret_cast<sockaddr*>(&name),
                               static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                                      abstract_name_.size())));
  return {};
}

Result<> AttackTargets::start_victim(const std::string& attacks_program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  const UniqueFd read_end(ends[0]);
  victim_input_ = UniqueFd(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), 0);
  // Called so that its command line is the one the attack looks for, wherever the program lies.
  char name[] = "glovebox-attacks";
  char verb[] = "victim";
  char* argv[] = {name, verb, nullptr};
  const int err =
      ::posix_spawn(&victim_, attacks_program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (err != 0) {
    victim_ = -1;
    return fail(Error::from_errno("start a victim", err));
  }
  return {};
}

std::string AttackTargets::missing_for(const AttackRow& row) const {
  if (row.needs_a("root") && ::geteuid() != 0) return "only root can plant what it aims at";
  return no_internet_for(row);
}

std::string AttackTargets::no_internet_for(const AttackRow& row) const {
  if (!row.needs_a("internet") || internet_ != nullptr) return "";
  if (no_internet_.empty()) {
    auto made = TestInternet::make(program_);
    if (made) {
      internet_ = std::move(*made);
      return "";
    }
    no_internet_ = "not run: " + made.error().message();
  }
  return no_internet_;
}

std::vector<std::string> AttackTargets::arguments(const AttackRow& row, Side side) const {
  const bool inside = side == Side::kInside;
  std::vector<std::string> words;
  const auto add = [&](const char* need, const char* key, const std::string& value) {
    if (row.needs_a(need)) words.push_back(std::string(key) + "=" + value);
  };
  char host_name[256] = {};
  ::gethostname(host_name, sizeof host_name - 1);
  add("canary", "canary", dir_ + "/canary");
  add("unix", "unix", dir_ + "/socket");
  add("listener", "port", std::to_string(port_));
  add("listener", "port6", std::to_string(port6_));
  add("abstract", "abstract", abstract_name_);
  add("pid", "pid", std::to_string(victim_));
  add("inode", "inode", program_inode_);
  add("hostname", "hostname", host_name);
  add("boot_id", "boot_id", read_text("/proc/sys/kernel/random/boot_id").substr(0, 36));
  add("mount", "mount", inside ? kGiftInside : dir_ + "/private/gift");
  add("rw_mount", "rw_mount", inside ? kRwInside : rw_dir(row));
  return words;
}

Inheritance AttackTargets::inheritance(const AttackRow& row) const {
  Inheritance inherits;
  if (row.needs_a("stdin")) inherits.stdin_path = dir_ + "/canary";
  if (row.needs_a("cwd")) inherits.working_dir = dir_;
  if (row.needs_a("leak")) inherits.leaked_dir = dir_;
  inherits.controlling_tty = row.needs_a("tty");
  // Always there: whatever leaks the environment, in whichever row, is found out.
  inherits.environment = {"GBX_ENV_CANARY=" + env_canary_};
  if (row.needs_a("internet") && internet_ != nullptr) {
    inherits.through = internet_->through();
    const std::vector<std::string> more = internet_->environment();
    inherits.environment.insert(inherits.environment.end(), more.begin(), more.end());
  }
  return inherits;
}

std::vector<std::string> AttackTargets::flags(const AttackRow& row) const {
  std::vector<std::string> flags = row.limits;
  if (row.needs_a("mount")) {
    flags.insert(flags.end(), {"--mount", "ro:" + dir_ + "/private/gift:" + kGiftInside});
  }
  if (row.kind == Kind::kPlant) {
    flags.insert(flags.end(), {"--mount", "rw:" + rw_dir(row) + ":" + kRwInside});
  }
  if (row.kind == Kind::kOut) {
    std::error_code ignored;
    fs::remove_all(dir_ + "/private/taken", ignored);
    flags.insert(flags.end(), {"--out", "/home/user/out:" + dir_ + "/private/taken"});
  }
  return flags;
}

bool AttackTargets::has_secret(const std::string& text) const {
  return text.find(canary_) != std::string::npos || text.find(env_canary_) != std::string::npos;
}

std::string AttackTargets::taken() const { return read_text(dir_ + "/private/taken"); }

std::string AttackTargets::rw_dir(const AttackRow& row) const {
  return dir_ + (row.needs_a("rw_user") ? "/private/rw-user" : "/private/rw");
}

std::string AttackTargets::planted_trouble(const AttackRow& row) const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(rw_dir(row), ignored)) {
    struct stat info {};
    if (::lstat(entry.path().c_str(), &info) != 0) continue;
    const std::string what =
        entry.path().filename().string() + " of uid " + std::to_string(info.st_uid);
    if (info.st_uid >= kFirstSliceUid) return "a slice uid reached the host's disk: " + what;
    if (info.st_uid == 0) return "a file of root lies on the host's disk: " + what;
    if ((info.st_mode & (S_ISUID | S_ISGID)) != 0) {
      return "a setuid file lies on the host's disk: " + what;
    }
  }
  return "";
}

}  // namespace glovebox::attack
