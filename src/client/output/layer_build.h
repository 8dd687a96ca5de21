// Installs a package set with POST /v1/layers and shows the progress on standard error.
#pragma once

#include <boost/json/fwd.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/connection/api_client.h"
#include "wire/packages/package_options.h"

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

// Installs the packages of a sandbox or template before it is requested, because only this request
// shows its progress; the server then finds them installed. `template_name` may be empty. Returns
// the exit status if they cannot be installed; other refusals, such as an unknown template, are
// left to the request that follows.
std::optional<int> install_packages(const ServerLocationOptions& server,
                                    const wire::PackageOptions& packages,
                                    const std::string& template_name);

}  // namespace glovebox::client
