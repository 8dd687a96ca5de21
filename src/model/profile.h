// What a sandbox may do, in one canonical form. Two spellings of one profile (an explicit default,
// another order, another way to write a number) have one text and therefore one SHA-256, which is
// the profile's name in answers. tests/vectors/profiles.json has examples that SDKs can share.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/dependencies.h"
#include "model/image.h"
#include "model/limits.h"
#include "model/sandbox_spec.h"
#include "net/net_policy.h"

namespace glovebox {

inline constexpr std::uint64_t kDefaultOutputBytes = 1024 * 1024;

// An entry of the administrator's list, and where a sandbox sees it.
struct ProfileMount {
  std::string name;
  GuestPath guest;
  MountMode mode = MountMode::kReadOnly;
  bool operator==(const ProfileMount&) const = default;
};

// Whether a run's sandbox may serve another run of the same caller and profile.
enum class ReuseMode : std::uint8_t {
  kNever,        // it is used once
  kSandbox,      // its process and everything that can be written are new, the rest is not
  kInterpreter,  // the process and its files, too: only for the same code, as on AWS Lambda
};
std::string_view reuse_name(ReuseMode mode);
const ReuseMode* parse_reuse(std::string_view name);  // null: there is none of this name

// Complete: nothing is left to a default, but the network's budgets, which are the administrator's.
struct Profile {
  Limits limits;
  std::uint64_t output_bytes = kDefaultOutputBytes;  // both streams together
  std::vector<ProfileMount> mounts;                  // no two at one path
  net::NetPolicy net;
  Dependencies dependencies{};
  std::string image{};  // the id of what its sandboxes are made of, in place of the host's files
  ReuseMode reuse = ReuseMode::kNever;
};

// The profile fields that a request sets; the rest comes from the template.
struct ProfileRequest {
  std::optional<std::chrono::milliseconds> wall;
  std::optional<std::chrono::milliseconds> cpu_time;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> disk_bytes;
  std::optional<std::uint64_t> output_bytes;
  std::optional<std::uint32_t> pids;
  std::optional<std::uint32_t> cpu_thousandths;
  std::vector<ProfileMount> mounts;
  std::optional<net::NetPolicy> net;
  Dependencies dependencies{};
  std::string image{};  // as the request names it
  std::optional<ImageUse>
      image_use{};  // what that is; the server fills it in when it resolves the name
  ReuseMode reuse = ReuseMode::kNever;
  bool operator==(const ProfileRequest&) const = default;
};

// Requested limits are marked as asked for: see model/limits.h for what a host does that cannot
// enforce one of them.
Profile fill_in(const ProfileRequest& requested, const Limits& defaults);

// JSON with sorted keys, no spaces, whole numbers only (milliseconds, bytes, thousandths of a
// CPU), mounts in the order of their paths. Who asked for a limit is no part of it.
std::string canonical_text(const Profile& profile);

}  // namespace glovebox
