#include "launcher/layers/host_layer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/id.h"
#include "base/unique_fd.h"
#include "launcher/layers/file_digest.h"
#include "launcher/layers/package_tool_files.h"
#include "launcher/layers/runtime_files.h"
#include "sys/remove_tree.h"

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;

// Copied from the host: what programs in its /usr expect. Never shadow, host keys or the machine
// id.
constexpr const char* kCopied[] = {
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/fonts",
    "/etc/matplotlibrc",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/mime.types",
    "/etc/protocols",
    "/etc/services",
    "/etc/inputrc",
    "/etc/python3",
    "/etc/python3.11",
    "/etc/debian_version",
    "/etc/os-release",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/terminfo",
    "/etc/bash.bashrc",
    "/etc/profile",
    "/etc/locale.alias",
    "/etc/java-17-openjdk",
    "/etc/perl",
    "/etc/dpkg",
    "/etc/login.defs",
    "/etc/skel",
    "/etc/adduser.conf",
    "/etc/deluser.conf",
    "/etc/debconf.conf",
    "/etc/default/useradd",
    "/etc/R",
    "/etc/java-11-openjdk",
    "/etc/java-21-openjdk",
};

constexpr LayerFile kOwnFiles[] = {
    {"etc/passwd",
     "root:x:0:0:root:/root:/bin/bash\n"
     "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
     "bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"
     "sys:x:3:3:sys:/dev:/usr/sbin/nologin\n"
     "man:x:6:12:man:/var/cache/man:/usr/sbin/nologin\n"
     "mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"
     "www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n"
     "_apt:x:42:65534::/nonexistent:/usr/sbin/nologin\n"
     "user:x:1000:1000:user:/home/user:/bin/bash\n"
     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"etc/group",
     "root:x:0:\ndaemon:x:1:\nbin:x:2:\nsys:x:3:\nadm:x:4:\ntty:x:5:\nmail:x:8:\nman:x:12:\n"
     "sudo:x:27:user\nwww-data:x:33:\nshadow:x:42:\nutmp:x:43:\nstaff:x:50:\nusers:x:100:\n"
     "user:x:1000:\nnogroup:x:65534:\n"},
    {"etc/nsswitch.conf",
     "passwd: files\ngroup: files\nhosts: files dns\nprotocols: files\nservices: files\n"},
    {"etc/environment", ""},
};

constexpr LayerFile kNetworkFiles[] = {
    {"etc/hosts", "127.0.0.1 localhost glovebox\n::1 localhost ip6-localhost\n"},
    {"etc/hostname", "glovebox\n"},
    {"etc/resolv.conf", "nameserver 100.64.0.53\noptions timeout:5 attempts:2\n"},
};

constexpr const char* kHostDirectories[] = {
    "dev", "etc", "home", "mnt", "opt",       "proc",    "root",    "run",     "srv",
    "sys", "tmp", "usr",  "var", "var/cache", "var/lib", "var/log", "var/tmp",
};

constexpr const char* kIntoUsr[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

constexpr const char* kDraftPrefix = ".draft-";

// To be changed with the lists above.
constexpr std::string_view kRecipe = "host-layer-7";

std::string digits_of(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// The name is a hash of what the layer is made from: a package upgrade on the host gives a new one.
std::string host_name() {
  std::uint64_t hash = kEmptyDigest;
  const auto mix = [&hash](std::string_view bytes) { hash = digest_of(bytes, hash); };
  mix(kRecipe);
  mix(std::to_string(runtime_files_digest()));
  for (const RuntimeFile& file : runtime_files()) mix(file.path);
  for (const std::span<const LayerFile> files :
       {std::span<const LayerFile>(kOwnFiles), network_files(), package_tool_files()}) {
    for (const LayerFile& file : files) {
      mix(file.path);
      mix(file.text);
    }
  }
  const auto mix_state = [&mix](const char* path) {
    struct stat info {};
    if (::stat(path, &info) != 0) return;
    mix(path);
    mix(std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec) + ":" +
        std::to_string(info.st_size));
  };
  for (const char* path : kCopied) mix_state(path);
  mix_state("/var/lib/dpkg/status");
  return "host-" + digits_of(hash);
}

std::string runtimes_name() {
  std::uint64_t hash = digest_of(std::to_string(runtime_files_digest()), kEmptyDigest);
  for (const RuntimeFile& file : runtime_files()) hash = digest_of(file.path, hash);
  return "runtimes-" + digits_of(hash);
}

// Copies only world-readable files: a file that only root may read must not be in a layer.
void copy_readable(const fs::path& from, const fs::path& to, std::error_code& error) {
  const fs::file_status status = fs::symlink_status(from, error);
  if (error) return;
  if (fs::is_symlink(status)) {
    fs::create_directories(to.parent_path(), error);
    fs::copy_symlink(from, to, error);
  } else if (fs::is_directory(status)) {
    fs::create_directories(to, error);
    for (const fs::directory_entry& entry : fs::directory_iterator(from, error)) {
      std::error_code one;
      copy_readable(entry.path(), to / entry.path().filename(), one);
    }
  } else if (fs::is_regular_file(status) &&
             (status.permissions() & fs::perms::others_read) != fs::perms::none) {
    fs::create_directories(to.parent_path(), error);
    fs::copy_file(from, to, error);
    ::chmod(to.c_str(), 0644);
  }
}

Result<> build_runtimes(const fs::path& root) {
  std::error_code error;
  for (const RuntimeFile& file : runtime_files()) {
    fs::create_directories((root / file.path).parent_path(), error);
    std::ofstream out(root / file.path, std::ios::trunc | std::ios::binary);
    out << file.bytes;
    if (!out.flush()) return fail(Errc::kInternal, std::string("write layer file ") + file.path);
    ::chmod((root / file.path).c_str(), 0644);
  }
  return {};
}

Result<> build_host_files(const fs::path& root) {
  std::error_code error;
  for (const char* directory : kHostDirectories) fs::create_directories(root / directory, error);
  for (const char* directory : package_tool_directories()) {
    fs::create_directories(root / directory, error);
  }
  if (error)
    return fail(Errc::kInternal, "create a directory of the host layer: " + error.message());
  for (const char* name : kIntoUsr) {
    // Hosts without a merged /usr (before 2019) are not supported.
    if (fs::exists(fs::path("/usr") / name, error)) {
      fs::create_symlink(fs::path("usr") / name, root / name, error);
    }
  }
  for (const char* path : kCopied) {
    std::error_code ignored;  // not every host has all of them
    copy_readable(path, root / fs::path(path).relative_path(), ignored);
  }
  for (const std::span<const LayerFile> files :
       {std::span<const LayerFile>(kOwnFiles), network_files(), package_tool_files()}) {
    for (const LayerFile& file : files) {
      std::ofstream out(root / file.path, std::ios::trunc);
      out << file.text;
      if (!out.flush()) return fail(Errc::kInternal, std::string("write layer file ") + file.path);
      ::chmod((root / file.path).c_str(), 0644);
    }
  }
  ::chmod((root / "etc/sudoers").c_str(), 0444);
  TRY_OK(name_certificates(root));
  TRY_OK(add_package_list(root));
  TRY_OK(build_runtimes(root));
  for (const char* path : {"tmp", "var/tmp"}) ::chmod((root / path).c_str(), 01777);
  ::chmod((root / "root").c_str(), 0700);
  fs::create_symlink("/proc/self/mounts", root / "etc/mtab", error);
  fs::create_symlink("/run", root / "var/run", error);
  fs::create_symlink("/run/lock", root / "var/lock", error);
  ::chmod(root.c_str(), 0755);
  return {};
}

// Drafts of launchers that were killed; a live one holds a lock on its draft.
void remove_dead_drafts(const std::string& layers_dir) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(layers_dir, error)) {
    if (entry.path().filename().string().rfind(kDraftPrefix, 0) != 0) continue;
    const UniqueFd lock(
        ::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) (void)sys::remove_tree(entry.path());
  }
}

using Build = Result<> (*)(const fs::path& root);

Result<std::string> ensure_layer(const std::string& layers_dir, const std::string& name,
                                 Build build) {
  const fs::path final_path = fs::path(layers_dir) / name;
  struct stat info {};
  if (::lstat(final_path.c_str(), &info) == 0) {
    if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
      return fail(
          Errc::kPermissionDenied,
          final_path.string() +
              " must be a directory that is owned by the launcher's user and not writable by "
              "others");
    }
    return final_path.string();
  }
  const mode_t old_mask = ::umask(022);
  std::error_code error;
  fs::create_directories(layers_dir, error);
  remove_dead_drafts(layers_dir);
  const fs::path draft = fs::path(layers_dir) / (kDraftPrefix + random_label(12));
  fs::create_directory(draft, error);
  const UniqueFd lock(::open(draft.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  Result<> built = lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0
                       ? build(draft)
                       : fail(Errc::kUnavailable, "create and lock a directory in " + layers_dir);
  ::umask(old_mask);
  if (built) {
    fs::rename(draft, final_path, error);
    if (!error) return final_path.string();
    // Another launcher was faster; its layer is the same.
    if (fs::exists(final_path))
      built = {};
    else
      built = fail(Errc::kInternal, "rename the host layer: " + error.message());
  }
  fs::remove_all(draft, error);
  if (!built) return fail(std::move(built.error()));
  return final_path.string();
}

}  // namespace

std::span<const LayerFile> network_files() { return kNetworkFiles; }

Result<HostLayers> ensure_host_layers(const std::string& layers_dir) {
  HostLayers layers;
  TRY(layers.host, ensure_layer(layers_dir, host_name(), build_host_files));
  TRY(layers.runtimes, ensure_layer(layers_dir, runtimes_name(), build_runtimes));
  return layers;
}

std::string default_layers_dir() {
  const char* chosen = std::getenv("GLOVEBOX_LAYERS_DIR");
  if (chosen != nullptr && chosen[0] == '/') return chosen;
  if (::geteuid() == 0) return "/var/lib/glovebox/layers";
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/glovebox/layers";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/' && ::access(home, W_OK) == 0) {
    return std::string(home) + "/.cache/glovebox/layers";
  }
  return "/tmp/glovebox-" + std::to_string(::geteuid()) + "/layers";
}

}  // namespace glovebox::launcher
