#include "probe/kernel.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

std::uint64_t effective_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return 0;
  return (std::uint64_t{data[1].effective} << 32) | data[0].effective;
}

Attempt shield_from_oom() {
  if (const int err = write_text("/proc/self/oom_score_adj", "-1000"); err != 0) {
    return Attempt::failed("write oom_score_adj", err);
  }
  return Attempt::worked();
}

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ", ") + part;
  return joined;
}

}  // namespace

std::vector<std::string> missing_launcher_capabilities(std::uint64_t effective) {
  struct Need {
    int bit;
    const char* name;
  };
  constexpr Need kNeeds[] = {
      {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
      {CAP_SETUID, "CAP_SETUID"},
      {CAP_SETGID, "CAP_SETGID"},
      {CAP_CHOWN, "CAP_CHOWN"},
      {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
      {CAP_KILL, "CAP_KILL"},
  };
  std::vector<std::string> missing;
  for (const Need& need : kNeeds) {
    if ((effective >> need.bit & 1) == 0) missing.emplace_back(need.name);
  }
  return missing;
}

bool is_initial_uid_map(std::string_view uid_map) {
  const std::vector<std::string_view> fields = words(uid_map);
  return fields.size() == 3 && fields[0] == "0" && fields[1] == "0" && fields[2] == "4294967295";
}

bool status_shows_seccomp(std::string_view status) {
  for (const std::string_view line : split(status, '\n')) {
    if (line.starts_with("Seccomp:")) return trim(line.substr(8)) != "0";
  }
  return false;
}

KernelFacts probe_kernel() {
  KernelFacts facts;
  utsname names{};
  if (::uname(&names) == 0) {
    facts.release = names.release;
    facts.machine = names.machine;
  }
  facts.euid = ::geteuid();
  facts.capabilities = effective_capabilities();
  if (const auto map = read_text("/proc/self/uid_map")) {
    facts.in_initial_user_namespace = is_initial_uid_map(*map);
  }
  if (const auto status = read_text("/proc/self/status")) {
    facts.under_seccomp = status_shows_seccomp(*status);
  }
  facts.helpers = attempt_in_helper([] { return Attempt::worked(); });
  facts.can_shield_from_oom = attempt_in_helper(shield_from_oom).ok();
  return facts;
}

void explain(const KernelFacts& facts, Findings& findings) {
  findings.push_back({"kernel", "release", State::kOk, facts.release + " on " + facts.machine, ""});

  Finding who{"kernel", "privileges", State::kOk, "", ""};
  const std::vector<std::string> missing = missing_launcher_capabilities(facts.capabilities);
  if (facts.euid != 0) {
    who.state = State::kWarn;
    who.detail = "uid " + std::to_string(facts.euid) + ", rootless: fewer walls are available";
    who.fix = "run as root (sudo), or start glovebox-launcher as a service, for grade jail";
  } else if (!missing.empty()) {
    who.state = State::kWarn;
    who.detail = "uid 0 without " + join(missing);
    who.fix = "start the container with these capabilities, or run directly on the host";
  } else if (!facts.in_initial_user_namespace) {
    who.state = State::kWarn;
    who.detail = "root of a user namespace, not of the host: only few uids are mapped";
    who.fix = "run directly on the host, or map the uids from 1879048192 into this namespace";
  } else {
    who.detail = "root, with every capability the launcher needs";
  }
  findings.push_back(std::move(who));

  if (!facts.helpers.ok()) {
    findings.push_back({"kernel", "helpers", State::kMissing,
                        facts.helpers.why() + "; the checks below could not be tried",
                        "raise the limits on processes and open files (ulimit -u, ulimit -n)"});
  }
  if (facts.under_seccomp) {
    findings.push_back({"kernel", "outer filter", State::kWarn,
                        "this process already runs under a seccomp filter, as in a container",
                        "if a probe below is refused: start the container with "
                        "--security-opt seccomp=unconfined"});
  }
  if (facts.can_shield_from_oom) {
    findings.push_back({"kernel", "oom shield", State::kOk, "oom_score_adj -1000 may be set", ""});
  } else {
    findings.push_back(
        {"kernel", "oom shield", State::kWarn,
         "oom_score_adj cannot be lowered (no CAP_SYS_RESOURCE): when a sandbox is out of "
         "memory, the kernel may kill its agent",
         facts.euid == 0 ? "give the launcher CAP_SYS_RESOURCE" : ""});
  }
}

}  // namespace glovebox::probe
