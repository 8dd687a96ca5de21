#include "model/profile.h"

#include <algorithm>
#include <string_view>

#include "base/hex.h"

namespace glovebox {
namespace {

// The few characters that JSON does not take as they are. Everything else stays: text that came
// from JSON is UTF-8.
std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      append_hex(out, byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string mounts_text(std::vector<ProfileMount> mounts) {
  std::sort(mounts.begin(), mounts.end(), [](const ProfileMount& a, const ProfileMount& b) {
    return a.guest.str() < b.guest.str();
  });
  std::string text = "[";
  for (const ProfileMount& mount : mounts) {
    if (text.size() > 1) text += ',';
    text += mount.mode == MountMode::kReadWrite ? "{\"mode\":\"rw\"" : "{\"mode\":\"ro\"";
    text += ",\"name\":" + json_quoted(mount.name) + ",\"path\":" + json_quoted(mount.guest.str()) +
            "}";
  }
  return text + "]";
}

std::string list_text(const std::vector<std::string>& list) {
  std::string text = "[";
  for (const std::string& one : list) {
    if (text.size() > 1) text += ',';
    text += json_quoted(one);
  }
  return text + "]";
}

// Empty if there are none: a profile without packages keeps its old name.
std::string dependencies_text(const Dependencies& wanted) {
  if (wanted.empty()) return "";
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    text += (text.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + value;
  };
  if (wanted.host_packages) add("host_packages", *wanted.host_packages ? "true" : "false");
  if (!wanted.lock.empty()) add("lock", json_quoted(wanted.lock));
  if (!wanted.packages.empty()) add("packages", list_text(wanted.packages));
  if (!wanted.preload.empty()) add("preload", list_text(wanted.preload));
  if (!wanted.requirements.empty()) add("requirements", json_quoted(wanted.requirements));
  return ",\"dependencies\":" + text + "}";
}

// Likewise.
std::string image_text(const std::string& image) {
  return image.empty() ? std::string() : ",\"image\":" + json_quoted(image);
}

struct ReuseName {
  std::string_view name;
  ReuseMode mode;
};
constexpr ReuseName kReuseNames[] = {{"never", ReuseMode::kNever},
                                     {"sandbox", ReuseMode::kSandbox},
                                     {"interpreter", ReuseMode::kInterpreter}};

// Empty if it is never used again: such a profile keeps its old name.
std::string reuse_text(ReuseMode mode) {
  if (mode == ReuseMode::kNever) return "";
  return ",\"reuse\":" + json_quoted(reuse_name(mode));
}

}  // namespace

std::string_view reuse_name(ReuseMode mode) {
  for (const ReuseName& known : kReuseNames) {
    if (known.mode == mode) return known.name;
  }
  return "";
}

const ReuseMode* parse_reuse(std::string_view name) {
  for (const ReuseName& known : kReuseNames) {
    if (known.name == name) return &known.mode;
  }
  return nullptr;
}

Profile fill_in(const ProfileRequest& requested, const Limits& defaults) {
  Profile profile;
  profile.limits = defaults;
  profile.limits.asked_for = 0;
  const auto apply_limit = [&](const auto& value, auto& limit, LimitKind kind) {
    if (!value) return;
    limit = *value;
    profile.limits.mark_asked_for(kind);
  };
  apply_limit(requested.wall, profile.limits.wall, LimitKind::kWall);
  apply_limit(requested.cpu_time, profile.limits.cpu_time, LimitKind::kCpuTime);
  apply_limit(requested.memory_bytes, profile.limits.memory_bytes, LimitKind::kMemory);
  apply_limit(requested.disk_bytes, profile.limits.disk_bytes, LimitKind::kDisk);
  apply_limit(requested.pids, profile.limits.pids, LimitKind::kPids);
  apply_limit(requested.cpu_thousandths, profile.limits.cpu_thousandths, LimitKind::kCpus);
  profile.output_bytes = requested.output_bytes.value_or(kDefaultOutputBytes);
  profile.mounts = requested.mounts;
  if (requested.net) profile.net = *requested.net;
  profile.dependencies = requested.dependencies;
  if (requested.image_use) profile.image = requested.image_use->layer;
  profile.reuse = requested.reuse;
  return profile;
}

std::string canonical_text(const Profile& profile) {
  const auto field = [](const char* name, std::uint64_t number) {
    return std::string("\"") + name + "\":" + std::to_string(number);
  };
  const auto ms = [](std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(time.count());
  };
  const Limits& limits = profile.limits;
  return "{" + field("cpu_ms", ms(limits.cpu_time)) + "," +
         field("cpu_thousandths", limits.cpu_thousandths) +
         dependencies_text(profile.dependencies) + "," + field("disk_bytes", limits.disk_bytes) +
         "," + field("disk_inodes", limits.disk_inodes) + image_text(profile.image) + "," +
         field("memory_bytes", limits.memory_bytes) + ",\"mounts\":" + mounts_text(profile.mounts) +
         ",\"net\":" + net::canonical_text(profile.net) + "," +
         field("output_bytes", profile.output_bytes) + "," + field("pids", limits.pids) +
         reuse_text(profile.reuse) + "," + field("timeout_ms", ms(limits.wall)) + "}";
}

}  // namespace glovebox
