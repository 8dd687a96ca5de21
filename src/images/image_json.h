// Images in answers, and the bodies of requests about them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string_view>

#include "base/result.h"
#include "images/image_service.h"

namespace glovebox::images {

// `project`: whose view; "*": an administrator's.
boost::json::object image_json(const KeptImage& image, const std::string& project);

// All kInvalidArgument.
Result<ImagePrune> parse_image_prune(std::string_view body);
// {"name", "credentials": {"username", "password", "identity_token", "registry_token"}}, without
// the project.
Result<PullRequest> parse_pull_request(std::string_view body);
Result<ImageService::Change> parse_image_change(std::string_view body);

}  // namespace glovebox::images
