// Installs a package set with POST /v1/layers and shows the progress on standard error.
#pragma once

#include <boost/json/fwd.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/connection/api_client.h"

namespace glovebox::client {

enum class ShowProgress { kYes, kNo };

// Either the layer, or the refusal of the server or the installer. The refusal's message leaves out
// the installer's lines that were shown.
struct LayerBuild {
  std::shared_ptr<const boost::json::object> layer;
  std::optional<ApiError> refused;
};

// `target`: "/v1/layers", with its query. An error: no server responds, or it broke off.
Result<LayerBuild> build_layer(ApiClient& api, const std::string& target, const std::string& body,
                               ShowProgress show);

}  // namespace glovebox::client
