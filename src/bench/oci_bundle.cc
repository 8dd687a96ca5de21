#include "bench/oci_bundle.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

namespace glovebox::bench {
namespace {

namespace fs = std::filesystem;

// The arguments need no JSON escapes.
std::string list_of(const std::vector<std::string>& args) {
  std::string list = "[";
  for (const std::string& arg : args) list += (list.size() > 1 ? ",\"" : "\"") + arg + "\"";
  return list + "]";
}

// Namespaces, limits and mounts as close to those of Glovebox as runc allows. Without seccomp
// profile and user namespace: `bwrap` has no filter either.
std::string config(const std::string& etc, const std::string& cgroup,
                   const std::vector<std::string>& program) {
  return R"({"ociVersion":"1.0.2","hostname":"glovebox",
"process":{"terminal":false,"user":{"uid":1000,"gid":1000},"args":)" +
         list_of(program) + R"(,
  "env":["PATH=/usr/local/bin:/usr/bin:/bin"],"cwd":"/home/user","capabilities":{},
  "noNewPrivileges":true},
"root":{"path":"rootfs","readonly":true},
"mounts":[
  {"destination":"/proc","type":"proc","source":"proc"},
  {"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755","size=64k"]},
  {"destination":"/dev/pts","type":"devpts","source":"devpts",
   "options":["nosuid","noexec","newinstance","ptmxmode=0666","mode=0620"]},
  {"destination":"/dev/shm","type":"tmpfs","source":"shm",
   "options":["nosuid","noexec","nodev","mode=1777"]},
  {"destination":"/usr","type":"bind","source":"/usr","options":["bind","ro"]},
  {"destination":"/etc","type":"bind","source":")" +
         etc + R"(","options":["bind","ro"]},
  {"destination":"/tmp","type":"tmpfs","source":"tmpfs","options":["nosuid","nodev"]},
  {"destination":"/home/user","type":"tmpfs","source":"tmpfs","options":["nosuid","nodev"]}],
"linux":{"cgroupsPath":")" +
         cgroup + R"(",
  "namespaces":[{"type":"pid"},{"type":"network"},{"type":"ipc"},{"type":"uts"},{"type":"mount"}],
  "resources":{"memory":{"limit":536870912},"pids":{"limit":128}}}}
)";
}

}  // namespace

Result<OciBundle> OciBundle::make(const std::string& etc, const std::vector<std::string>& program) {
  std::string path = "/tmp/gbx-bench-oci-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail(Error::from_errno("create a bundle"));
  OciBundle bundle(path);
  std::error_code error;
  const fs::path rootfs = fs::path(path) / "rootfs";
  for (const char* name : {"usr", "etc", "proc", "dev", "tmp", "home/user"}) {
    fs::create_directories(rootfs / name, error);
  }
  for (const char* name : {"bin", "lib", "lib64", "sbin"}) {
    fs::create_symlink(fs::path("usr") / name, rootfs / name, error);
  }
  std::ofstream out(fs::path(path) / "config.json");
  out << config(etc, "/gbx-bench-" + std::to_string(::getpid()), program);
  if (error || !out.flush()) return fail(Errc::kInternal, "write a bundle in " + path);
  return bundle;
}

OciBundle::OciBundle(OciBundle&& other) noexcept : path_(std::exchange(other.path_, {})) {}

OciBundle::~OciBundle() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Command runc_run(const std::string& bundle) {
  return {{"/usr/sbin/runc", "--root", bundle + "/state", "run", "--bundle", bundle,
           "gbx-bench-" + std::to_string(::getpid())},
          {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}};
}

}  // namespace glovebox::bench
