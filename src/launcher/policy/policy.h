// The launcher's own policy: what may be started at all, whoever asks. Read from root-owned files
// in /etc/glovebox by the launcher itself; a client can ask for less, never for more.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/limits.h"

namespace glovebox::launcher {

// A host path that clients of a server may ask for by name.
struct NamedMount {
  std::string path;
  bool writable = false;
  std::vector<std::string> projects;  // none: every project
  bool operator==(const NamedMount&) const = default;
};

struct Policy {
  // Ceilings of one sandbox.
  std::uint64_t max_memory_bytes = 64ull << 30;
  std::uint64_t max_disk_bytes = 64ull << 30;
  std::uint32_t max_pids = 16384;
  std::uint32_t max_cpu_thousandths = 256'000;
  std::chrono::milliseconds max_wall{24 * 3'600'000};
  // And of all that one launcher has at once.
  std::uint32_t max_sandboxes = 2560;

  // Host uids that belong to nobody; a sandbox gets 65,536 of them.
  std::uint32_t uid_first = 1'879'048'192;
  std::uint32_t uid_last = 2'147'352'575;

  // Whether a client may hand over descriptors of host paths to mount. The client opened them with
  // its own rights; still, an administrator may want none of it.
  bool allow_mounts = true;
  bool allow_writable_mounts = true;
  // Host directories that may be mounted; empty means any that the client can open.
  std::vector<std::string> mount_sources;
  // Whose files a writable mount's new files become when the caller is root; 0 means: the owner of
  // the mounted directory.
  std::uint32_t mount_uid = 0;
  // [mounts.NAME]: the only mounts that a server's clients can have.
  std::map<std::string, NamedMount> named_mounts;
  // Not of the file: said by whoever starts a private server, whose clients are all his own. They
  // may name an absolute host path instead of an entry, within what the settings above allow.
  bool mounts_by_path = false;

  bool allow_process_engine = true;
  // Whether a server may define templates for its clients, who choose what their zygotes import.
  bool templates_of_projects = true;
};

// Compiled-in values, overridden by `path` where it exists. A file that is not root's, or that
// others may write, or that has an unknown key, is an error: fail closed.
Result<Policy> load_policy(const std::string& path);
// For tests: the text of such a file.
Result<Policy> parse_policy(const std::string& text, const std::string& name);

// What nobody asked for is lowered to its ceiling instead of refused.
Limits within_ceilings(const Policy& policy, Limits limits);

// Refuses what is past a ceiling, saying which.
Result<> check_limits(const Policy& policy, const Limits& limits);

}  // namespace glovebox::launcher
