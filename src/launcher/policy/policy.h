// The launcher's own policy: what it starts at all, for any client. The launcher reads it from a
// root-owned file in /etc/glovebox; a client can ask for less, never for more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/limits.h"

namespace glovebox::launcher {

// A host path that clients of a server may mount by name.
struct NamedMount {
  std::string path;
  bool writable = false;
  std::vector<std::string> projects;  // empty: every project
  bool operator==(const NamedMount&) const = default;
};

struct Policy {
  // Ceilings of one sandbox.
  std::uint64_t max_memory_bytes = 64ull << 30;
  std::uint64_t max_disk_bytes = 64ull << 30;
  std::uint32_t max_pids = 1024;
  std::uint32_t max_cpu_thousandths = 256'000;
  std::chrono::milliseconds max_wall{24 * 3'600'000};
  // Ceiling of one launcher.
  std::uint32_t max_sandboxes = 2560;
  // [host]: what all sandboxes of one launcher may use together; 0: derived from what the host has.
  std::uint64_t host_memory_bytes = 0;
  std::uint32_t host_pids = 0;
  // How much of that one project's sandboxes may use, at most.
  std::uint32_t project_percent = 75;

  // Host uids that no user has; a sandbox gets 65,536 of them.
  std::uint32_t uid_first = 1'879'048'192;
  std::uint32_t uid_last = 2'147'352'575;

  // Whether a client may pass descriptors of host paths to mount. The client opened them with its
  // own rights; an administrator may still forbid it.
  bool allow_mounts = true;
  bool allow_writable_mounts = true;
  // Host directories that may be mounted; empty means any that the client can open.
  std::vector<std::string> mount_sources;
  // The owner of new files in a writable mount when the caller is root; 0: the owner of the mounted
  // directory.
  std::uint32_t mount_uid = 0;
  // [mounts.NAME]: the only mounts that a server's clients can have.
  std::map<std::string, NamedMount> named_mounts;
  // Not from the file: an option of a private server, whose clients all belong to the user who
  // started it. They may name an absolute host path instead of an entry, within the settings above.
  bool mounts_by_path = false;

  bool allow_process_engine = true;
  // Whether a listening launcher raises the host's limits that are too small for many sandboxes.
  bool raise_host_limits = false;
  // Whether a server may define templates for its clients, which choose what their zygotes import.
  bool templates_of_projects = true;
};

// The compiled-in values, overridden by `path` if it exists. A file that root does not own, that
// others can write, or that has an unknown key is an error: fail closed.
Result<Policy> load_policy(const std::string& path);
// Parses the text of such a file; `name` is for messages.
Result<Policy> parse_policy(const std::string& text, const std::string& name);

// Lowers limits that were not asked for explicitly to their ceilings.
Limits within_ceilings(const Policy& policy, Limits limits);

// kPolicy for a limit above its ceiling, or too small to run anything.
Result<> check_limits(const Policy& policy, const Limits& limits);

}  // namespace glovebox::launcher
