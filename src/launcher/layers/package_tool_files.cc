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
    // Readable for all: there is nothing to hide in it, and a layer has no file that only root may
    // read.
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
    // What is installed into a sandbox is the sandbox's own and breaks nobody's system; its disk is
    // small and soon gone, so nothing is kept twice.
    {"etc/pip.conf",
     "[global]\nbreak-system-packages = true\ndisable-pip-version-check = true\n"
     "no-cache-dir = true\nroot-user-action = ignore\n"},
    {"var/lib/dpkg/statoverride", ""},  // the host's names users and groups that are not here
    {"var/lib/dpkg/diversions", ""},    // and paths that are: replaced below if there are any
};

constexpr const char* kDirectories[] = {
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

// Whether it is there. Only what anybody may read, and never a file that belongs to a moment.
bool take(const fs::path& from, const fs::path& to) {
  struct stat info {};
  if (::lstat(from.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 0004) == 0) {
    return false;
  }
  ::unlink(to.c_str());
  // Of a user's own launcher the kernel may refuse it, and another disk always does.
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  std::error_code error;
  fs::copy_file(from, to, error);
  if (!error) ::chmod(to.c_str(), info.st_mode & 0755);
  return !error;
}

bool is_momentary(std::string_view name) {
  return name == "Lock" || name == "lock" || name.find(".dpkg-") != std::string_view::npos ||
         name.find(".new") != std::string_view::npos;
}

}  // namespace

std::span<const LayerFile> package_tool_files() { return kFiles; }

std::span<const char* const> package_tool_directories() { return kDirectories; }

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
  if (!fs::exists(host / "status", error)) return {};  // no Debian
  for (const char* name : kListed) take(host / name, list / name);
  for (const char* name : kListedDirectories) {
    for (const fs::directory_entry& entry : fs::directory_iterator(host / name, error)) {
      const std::string file = entry.path().filename().string();
      if (!is_momentary(file)) take(entry.path(), list / name / file);
    }
  }
  if (!fs::exists(list / "status", error)) {
    return fail(Errc::kInternal, "make layer: the list of packages cannot be read");
  }
  return {};
}

}  // namespace glovebox::launcher
