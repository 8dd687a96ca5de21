#include "launcher/policy/policy.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

// toml++ 3.3 asserts on some malformed headers ("[)") and, without assertions, promises the
// compiler that they do not occur. The file is the administrator's: a mistake in it is an error,
// not a crash.
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/unique_fd.h"
#include "base/units.h"

namespace glovebox::launcher {
namespace {

tl::unexpected<Error> bad_name(const std::string& name, const std::string& what) {
  return fail(Errc::kInvalidArgument, name + ": " + what);
}

Result<std::uint32_t> to_u32(const toml::node& node, const std::string& where) {
  const auto value = node.value_exact<std::int64_t>();
  if (!node.is_integer() || !value || *value < 0 || *value > 0xffffffffll) {
    return fail(Errc::kInvalidArgument, where + " must be an integer from 0 to 4294967295");
  }
  return static_cast<std::uint32_t>(*value);
}

Result<bool> to_bool(const toml::node& node, const std::string& where) {
  const auto value = node.value_exact<bool>();
  if (!node.is_boolean() || !value)
    return fail(Errc::kInvalidArgument, where + " must be true or false");
  return *value;
}

Result<std::string> to_text(const toml::node& node, const std::string& where) {
  const auto value = node.value_exact<std::string>();
  if (!node.is_string() || !value) return fail(Errc::kInvalidArgument, where + " must be a string");
  return *value;
}

Result<> read_limit(Policy& policy, std::string_view key, const toml::node& node,
                    const std::string& where) {
  if (key == "memory" || key == "disk") {
    TRY(const std::string text, to_text(node, where));
    TRY(const std::uint64_t bytes, parse_size(text));
    (key == "memory" ? policy.max_memory_bytes : policy.max_disk_bytes) = bytes;
  } else if (key == "wall") {
    TRY(const std::string text, to_text(node, where));
    TRY(policy.max_wall, parse_duration(text));
  } else if (key == "pids") {
    TRY(policy.max_pids, to_u32(node, where));
  } else if (key == "cpu_thousandths") {
    TRY(policy.max_cpu_thousandths, to_u32(node, where));
  } else if (key == "sandboxes") {
    TRY(policy.max_sandboxes, to_u32(node, where));
  } else {
    return fail(Errc::kInvalidArgument, "unknown key " + where);
  }
  return {};
}

Result<> read_host(Policy& policy, std::string_view key, const toml::node& node,
                   const std::string& where) {
  if (key == "memory") {
    TRY(const std::string text, to_text(node, where));
    TRY(policy.host_memory_bytes, parse_size(text));
  } else if (key == "pids") {
    TRY(policy.host_pids, to_u32(node, where));
  } else if (key == "project_percent") {
    TRY(policy.project_percent, to_u32(node, where));
    if (policy.project_percent < 1 || policy.project_percent > 100) {
      return fail(Errc::kInvalidArgument, where + " must be from 1 to 100");
    }
  } else if (key == "raise_limits") {
    TRY(policy.raise_host_limits, to_bool(node, where));
  } else {
    return fail(Errc::kInvalidArgument, "unknown key " + where);
  }
  return {};
}

Result<> read_uids(Policy& policy, std::string_view key, const toml::node& node,
                   const std::string& where) {
  if (key == "first") {
    TRY(policy.uid_first, to_u32(node, where));
  } else if (key == "last") {
    TRY(policy.uid_last, to_u32(node, where));
  } else {
    return fail(Errc::kInvalidArgument, "unknown key " + where);
  }
  return {};
}

Result<std::vector<std::string>> to_texts(const toml::node& node, const std::string& where) {
  const toml::array* list = node.as_array();
  if (list == nullptr) return fail(Errc::kInvalidArgument, where + " must be a list");
  std::vector<std::string> texts;
  for (const toml::node& entry : *list) {
    TRY(std::string text, to_text(entry, where));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<NamedMount> read_named_mount(const toml::table& table, const std::string& where) {
  NamedMount mount;
  for (const auto& [key, node] : table) {
    const std::string at = where + "." + std::string(key.str());
    if (key == "path") {
      TRY(mount.path, to_text(node, at));
    } else if (key == "mode") {
      TRY(const std::string mode, to_text(node, at));
      if (mode != "ro" && mode != "rw") {
        return fail(Errc::kInvalidArgument, at + " must be \"ro\" or \"rw\"");
      }
      mount.writable = mode == "rw";
    } else if (key == "projects") {
      TRY(mount.projects, to_texts(node, at));
    } else {
      return fail(Errc::kInvalidArgument, "unknown key " + at);
    }
  }
  if (mount.path.empty() || mount.path[0] != '/') {
    return fail(Errc::kInvalidArgument, where + ".path must be an absolute path");
  }
  return mount;
}

Result<> read_mounts(Policy& policy, std::string_view key, const toml::node& node,
                     const std::string& where) {
  if (const toml::table* named = node.as_table()) {
    TRY(policy.named_mounts[std::string(key)], read_named_mount(*named, where));
  } else if (key == "allow") {
    TRY(policy.allow_mounts, to_bool(node, where));
  } else if (key == "allow_writable") {
    TRY(policy.allow_writable_mounts, to_bool(node, where));
  } else if (key == "uid") {
    TRY(policy.mount_uid, to_u32(node, where));
  } else if (key == "sources") {
    TRY(policy.mount_sources, to_texts(node, where));
    for (const std::string& path : policy.mount_sources) {
      if (path.empty() || path[0] != '/') {
        return fail(Errc::kInvalidArgument, where + " must contain absolute paths");
      }
    }
  } else {
    return fail(Errc::kInvalidArgument, "unknown key " + where);
  }
  return {};
}

Result<> read_engines(Policy& policy, std::string_view key, const toml::node& node,
                      const std::string& where) {
  if (key != "process") return fail(Errc::kInvalidArgument, "unknown key " + where);
  TRY(policy.allow_process_engine, to_bool(node, where));
  return {};
}

Result<> read_templates(Policy& policy, std::string_view key, const toml::node& node,
                        const std::string& where) {
  if (key != "of_projects") return fail(Errc::kInvalidArgument, "unknown key " + where);
  TRY(policy.templates_of_projects, to_bool(node, where));
  return {};
}

}  // namespace

Result<Policy> parse_policy(const std::string& text, const std::string& name) {
  // toml++ 3.3 has bugs with non-ASCII input, and nothing in a policy needs it.
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' || c == '\r';
  });
  if (!plain) return bad_name(name, "contains characters that are not printable ASCII");
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    return bad_name(name, "line " + std::to_string(parsed.error().source().begin.line) + ": " +
                              std::string(parsed.error().description()));
  }
  struct Section {
    const char* name;
    Result<> (*read)(Policy&, std::string_view, const toml::node&, const std::string&);
  };
  static constexpr Section kSections[] = {{"limits", read_limit},    {"host", read_host},
                                          {"uids", read_uids},       {"mounts", read_mounts},
                                          {"engines", read_engines}, {"templates", read_templates}};
  Policy policy;
  for (const auto& [section_key, section_node] : parsed.table()) {
    const std::string section_name(section_key.str());
    const toml::table* section = section_node.as_table();
    const Section* known = nullptr;
    for (const Section& one : kSections) {
      if (section_name == one.name) known = &one;
    }
    if (known == nullptr || section == nullptr)
      return bad_name(name, "unknown key " + section_name);
    for (const auto& [key, node] : *section) {
      const std::string where = section_name + "." + std::string(key.str());
      if (auto read = known->read(policy, key.str(), node, where); !read) {
        return fail(std::move(read.error()).context(name));
      }
    }
  }
  // A guest can rename what it can write, so an entry inside a writable mount could lead anywhere.
  for (const auto& [outer_name, outer] : policy.named_mounts) {
    for (const auto& [inner_name, inner] : policy.named_mounts) {
      if (outer.writable && inner.path.rfind(outer.path + "/", 0) == 0) {
        return bad_name(name, "mounts." + inner_name + " is in mounts." + outer_name +
                                  ", which is writable by guests");
      }
    }
  }
  // A slice below 65,536 would give a guest the uids of the host's own users.
  if (policy.uid_first < 65536 || policy.uid_first % 65536 != 0 ||
      policy.uid_last < policy.uid_first || policy.uid_last - policy.uid_first < 4 * 65536u - 1) {
    return bad_name(name, "uids.first must be a multiple of 65536 and leave room for four slices");
  }
  return policy;
}

Result<Policy> load_policy(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return Policy{};
    return fail(Error::from_errno("open " + path));
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail(Error::from_errno("stat " + path));
  if (!S_ISREG(info.st_mode) || info.st_uid != 0 || (info.st_mode & 022) != 0) {
    return fail(Errc::kPolicy,
                path + " must be a regular file that is owned by root and writable by root only");
  }
  std::string text(static_cast<std::size_t>(std::min<off_t>(info.st_size, 1 << 20)), '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) return fail(Error::from_errno("read " + path));
  text.resize(static_cast<std::size_t>(got));
  return parse_policy(text, path);
}

Limits within_ceilings(const Policy& policy, Limits limits) {
  const auto lower = [&](LimitKind kind, auto& value, auto ceiling) {
    if (!limits.was_asked_for(kind) && value > ceiling) value = ceiling;
  };
  lower(LimitKind::kMemory, limits.memory_bytes, policy.max_memory_bytes);
  lower(LimitKind::kDisk, limits.disk_bytes, policy.max_disk_bytes);
  lower(LimitKind::kPids, limits.pids, policy.max_pids);
  lower(LimitKind::kCpus, limits.cpu_thousandths, policy.max_cpu_thousandths);
  lower(LimitKind::kWall, limits.wall, policy.max_wall);
  return limits;
}

Result<> check_limits(const Policy& policy, const Limits& limits) {
  const auto refuse = [](std::string_view what) {
    return fail(Errc::kPolicy, std::string(what) + " exceeds the ceiling in the launcher's policy");
  };
  // With less than this not even the agent would start; each inode costs kernel memory.
  constexpr std::uint64_t kMinMemory = 8u << 20;
  constexpr std::uint64_t kMinDisk = 1u << 20;
  constexpr std::uint32_t kMaxInodes = 16u << 20;
  if (limits.memory_bytes < kMinMemory || limits.disk_bytes < kMinDisk || limits.pids < 2) {
    return fail(Errc::kPolicy,
                "a limit is too small: a sandbox needs at least 8 MB of memory, 1 MB of disk and 2 "
                "processes");
  }
  if (limits.disk_inodes > kMaxInodes) return refuse("the inode limit");
  if (limits.memory_bytes > policy.max_memory_bytes) return refuse("the memory limit");
  if (limits.disk_bytes > policy.max_disk_bytes) return refuse("the disk limit");
  if (limits.pids > policy.max_pids) return refuse("the process limit");
  if (limits.cpu_thousandths > policy.max_cpu_thousandths) return refuse("the CPU limit");
  if (limits.wall > policy.max_wall) return refuse("the time limit");
  return {};
}

}  // namespace glovebox::launcher
