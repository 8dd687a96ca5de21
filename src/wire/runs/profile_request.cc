#include "wire/runs/profile_request.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "wire/json/object_reader.h"
#include "wire/launcher/launcher_messages.h"
#include "wire/network/net_policy_json.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kDayMs = 86'400'000;
constexpr std::uint64_t kMaxMb = 1u << 20;
constexpr std::uint64_t kMaxOutputKb = 16 * 1024;

Result<ProfileMount> read_mount(const json::value& value, const std::string& at) {
  TRY(ObjectReader mount, ObjectReader::open(value, at));
  TRY(auto name, mount.text("name", kMaxMountName));
  if (!name || name->empty()) {
    return mount.bad("name", "is missing: an entry of the administrator's list");
  }
  TRY_OK(check_no_nul(*name, mount.path_of("name")));
  TRY(const auto path, mount.text("path", GuestPath::kMaxBytes));
  if (!path) return mount.bad("path", "is missing");
  auto guest = GuestPath::parse(*path);
  if (!guest) return mount.bad("path", guest.error().message());
  TRY(const auto mode, mount.text("mode", 8));
  if (mode && *mode != "ro" && *mode != "rw") return mount.bad("mode", "must be ro or rw");
  TRY_OK(mount.finish());
  return ProfileMount{
      .name = std::move(*name),
      .guest = std::move(*guest),
      .mode = mode == "rw" ? MountMode::kReadWrite : MountMode::kReadOnly,
  };
}

Result<std::vector<ProfileMount>> read_mounts(ObjectReader& fields) {
  std::vector<ProfileMount> mounts;
  const json::value* value = fields.take("mounts");
  if (value == nullptr) return mounts;
  const json::array* list = value->if_array();
  if (list == nullptr) return fields.bad("mounts", "must be a list");
  if (list->size() > kMaxMounts) {
    return fields.bad("mounts", "must have at most " + std::to_string(kMaxMounts) + " entries");
  }
  for (const json::value& element : *list) {
    const std::string name = "mounts[" + std::to_string(mounts.size()) + "]";
    TRY(ProfileMount mount, read_mount(element, fields.path_of(name)));
    const bool taken = std::any_of(mounts.begin(), mounts.end(), [&](const ProfileMount& other) {
      return other.guest == mount.guest;
    });
    if (taken) return fields.bad(name, "something else is mounted there already");
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::optional<std::chrono::milliseconds> optional_ms(const std::optional<std::uint64_t>& number) {
  if (!number) return std::nullopt;
  return std::chrono::milliseconds(*number);
}

template <class To>
std::optional<To> times(const std::optional<std::uint64_t>& number, std::uint64_t unit) {
  if (!number) return std::nullopt;
  return static_cast<To>(*number * unit);
}

}  // namespace

Result<std::string> read_image(ObjectReader& fields) {
  constexpr std::size_t kMaxImage = 255;
  TRY(auto image, fields.text("image", kMaxImage));
  if (!image) return std::string();
  TRY_OK(check_no_nul(*image, fields.path_of("image")));
  if (image->empty()) return fields.bad("image", "must name an image");
  return std::move(*image);
}

Result<ProfileRequest> read_profile_request(const json::value& value, const std::string& path) {
  TRY(ObjectReader fields, ObjectReader::open(value, path));
  ProfileRequest requested;
  TRY(const auto timeout_ms, fields.whole("timeout_ms", 1, kDayMs));
  TRY(const auto cpu_ms, fields.whole("cpu_ms", 1, kDayMs));
  TRY(const auto memory_mb, fields.whole("memory_mb", 8, kMaxMb));
  TRY(const auto cpus, fields.number("cpus", 0.01, 1024));
  TRY(const auto pids, fields.whole("pids", 1, 65'536));
  TRY(const auto disk_mb, fields.whole("disk_mb", 1, kMaxMb));
  TRY(const auto output_kb, fields.whole("output_kb", 1, kMaxOutputKb));
  TRY(requested.mounts, read_mounts(fields));
  if (const json::value* net = fields.take("net")) {
    TRY(requested.net, read_net_policy(*net, fields.path_of("net")));
  }
  if (const json::value* dependencies = fields.take("dependencies")) {
    TRY(requested.dependencies, read_dependencies(*dependencies, fields.path_of("dependencies")));
  }
  TRY(requested.image, read_image(fields));
  if (!requested.image.empty() && !requested.dependencies.empty()) {
    return fields.bad("image", "cannot be combined with dependencies yet");
  }
  TRY(const auto reuse, fields.text("reuse", 16));
  if (reuse) {
    const ReuseMode* known = parse_reuse(*reuse);
    if (known == nullptr) return fields.bad("reuse", "must be never, sandbox or interpreter");
    requested.reuse = *known;
  }
  if (!requested.image.empty() && requested.reuse != ReuseMode::kNever) {
    return fields.bad("reuse", "cannot be combined with an image yet");
  }
  TRY_OK(fields.finish());
  requested.wall = optional_ms(timeout_ms);
  requested.cpu_time = optional_ms(cpu_ms);
  requested.memory_bytes = times<std::uint64_t>(memory_mb, 1u << 20);
  requested.disk_bytes = times<std::uint64_t>(disk_mb, 1u << 20);
  requested.output_bytes = times<std::uint64_t>(output_kb, 1024);
  requested.pids = times<std::uint32_t>(pids, 1);
  if (cpus) requested.cpu_thousandths = static_cast<std::uint32_t>(std::lround(*cpus * 1000));
  return requested;
}

}  // namespace glovebox::wire
