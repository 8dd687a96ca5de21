#include "launcher/layers/package_tool_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace glovebox::launcher {
namespace {

namespace fs = std::filesystem;

constexpr LayerFile kFiles[] = {
    // World-readable: it has no secrets, and a layer has no file that only root may read.
    {"etc/sudoers",
     "Defaults env_reset, !requiretty, !use_pty\n"
     "Defaults secure_path=\"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\n"
     "root ALL=(ALL:ALL) ALL\n"
     "user ALL=(ALL:ALL) NOPASSWD: ALL\n"
     "@includedir /etc/sudoers.d\n"},
    {"etc/pam.d/common-auth", "auth sufficient pam_rootok.so\nauth required pam_deny.so\n"},
    {"etc/pam.d/common-account", "account required pam_permit.so\n"},
    {"etc/pam.d/common-session", "session required pam_permit.so\n"},
    {"etc/pam.d/common-session-noninteractive", "session required pam_permit.so\n"},
    {"etc/pam.d/common-password", "password required pam_permit.so\n"},
    {"etc/pam.d/other",
     "@include common-auth\n@include common-account\n@include common-password\n"
     "@include common-session\n"},
    {"etc/pam.d/sudo",
     "@include common-auth\n@include common-account\n@include common-session-noninteractive\n"},
    {"etc/pam.d/sudo-i",
     "@include common-auth\n@include common-account\n@include common-session\n"},
    {"etc/pam.d/su", "@include common-auth\n@include common-account\n@include common-session\n"},
    {"etc/pam.d/su-l", "@include common-auth\n@include common-account\n@include common-session\n"},
    {"etc/pam.d/runuser", "auth sufficient pam_rootok.so\nsession required pam_permit.so\n"},
    {"etc/apt/apt.conf.d/00glovebox",
     "APT::Sandbox::User \"root\";\nAPT::Install-Recommends \"false\";\n"},
    {"etc/apt/sources.list", "# no network\n"},
    // Packages in a sandbox break no other system; its disk is small and short-lived, so pip keeps
    // no cache.
    {"etc/pip.conf",
     "[global]\nbreak-system-packages = true\ndisable-pip-version-check = true\n"
     "no-cache-dir = true\nroot-user-action = ignore\n"},
    {"var/lib/dpkg/statoverride",
     ""},  // the host's refers to users and groups that do not exist here
    {"var/lib/dpkg/diversions", ""},  // replaced below if the host has one
};

constexpr const char* kPackageDirectories[] = {
    "etc/apt/apt.conf.d",
    "etc/apt/preferences.d",
    "etc/apt/sources.list.d",
    "etc/apt/trusted.gpg.d",
    "etc/dpkg/dpkg.cfg.d",
    "etc/pam.d",
    "etc/sudoers.d",
    "run/lock",
    "var/cache/apt/archives/partial",
    "var/cache/debconf",
    "var/cache/ldconfig",
    "var/lib/apt/lists/partial",
    "var/lib/dpkg/alternatives",
    "var/lib/dpkg/info",
    "var/lib/dpkg/parts",
    "var/lib/dpkg/triggers",
    "var/lib/dpkg/updates",
    "var/lib/misc",
    "var/lib/sudo",
    "var/local",
    "var/log/apt",
    "var/mail",
    "var/opt",
    "var/spool",
};

constexpr const char* kCertificates = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kListed[] = {"status", "available", "arch", "diversions"};
constexpr const char* kListedDirectories[] = {"info", "alternatives", "triggers"};

// Returns whether the file was linked or copied. Only world-readable regular files.
bool link_or_copy(const fs::path& from, const fs::path& to) {
  struct stat info {};
  if (::lstat(from.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 0004) == 0) {
    return false;
  }
  ::unlink(to.c_str());
  // The kernel may refuse the link to an unprivileged launcher, and does between filesystems.
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  std::error_code error;
  fs::copy_file(from, to, error);
  if (!error) ::chmod(to.c_str(), info.st_mode & 0755);
  return !error;
}

bool is_temporary(std::string_view name) {
  return name == "Lock" || name == "lock" || name.find(".dpkg-") != std::string_view::npos ||
         name.find(".new") != std::string_view::npos;
}

}  // namespace

std::span<const LayerFile> package_tool_files() { return kFiles; }

std::span<const char* const> package_tool_directories() { return kPackageDirectories; }

Result<> name_certificates(const fs::path& root) {
  std::error_code error;
  if (!fs::exists(root / fs::path(kCertificates).relative_path(), error)) return {};
  std::ofstream out(root / "etc/pip.conf", std::ios::app);
  out << "cert = " << kCertificates << "\n";
  if (!out.flush()) return fail(Errc::kInternal, "write layer file etc/pip.conf");
  return {};
}

Result<> add_package_list(const fs::path& root) {
  const fs::path host = "/var/lib/dpkg";
  const fs::path list = root / "var/lib/dpkg";
  std::error_code error;
  if (!fs::exists(host / "status", error)) return {};  // not a Debian host
  for (const char* name : kListed) link_or_copy(host / name, list / name);
  for (const char* name : kListedDirectories) {
    for (const fs::directory_entry& entry : fs::directory_iterator(host / name, error)) {
      const std::string file = entry.path().filename().string();
      if (!is_temporary(file)) link_or_copy(entry.path(), list / name / file);
    }
  }
  if (!fs::exists(list / "status", error)) {
    return fail(Errc::kInternal,
                "copy the host's package list: /var/lib/dpkg/status cannot be read");
  }
  return {};
}

}  // namespace glovebox::launcher
