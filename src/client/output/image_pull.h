// Pulls an image on a server, with progress on standard error, and with the caller's credentials
// for its registry.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection/api_client.h"

namespace glovebox::client {

// When an image that a command names is pulled first.
enum class PullPolicy : std::uint8_t { kMissing, kAlways, kNever };
// "missing", "always", "never".
std::optional<PullPolicy> parse_pull_policy(std::string_view name);

struct ImagePullRequest {
  std::string image;
  std::string project{};      // empty: the key's own
  bool is_anonymous = false;  // without the caller's credentials
  bool is_quiet = false;
};

struct PulledImage {
  // Null: the server refused, see `refused`, or the image was there and was not asked for again.
  std::shared_ptr<const boost::json::object> image;
  std::optional<ApiError> refused;
};

// The error means that no server responded, or that the credentials cannot be read.
Result<PulledImage> pull_image(ApiClient& api, const ImagePullRequest& wanted);
// By the policy.
Result<PulledImage> provide_image(ApiClient& api, const ImagePullRequest& wanted,
                                  PullPolicy policy);

// What --image and --pull of a command say.
struct NamedImage {
  std::string name;  // empty: none
  std::string pull;  // empty: missing
};
// Before something is made of the image. An exit status: it was reported why there is no image.
std::optional<int> provide_or_report(const ServerLocationOptions& server, const NamedImage& image,
                                     bool is_quiet);

}  // namespace glovebox::client
