#include "client/output/layer_build.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "base/write_all.h"
#include "client/output/build_progress.h"
#include "client/output/print.h"
#include "client/output/run_events.h"
#include "wire/packages/dependencies_json.h"

namespace glovebox::client {

Result<LayerBuild> build_layer(ApiClient& api, const std::string& target, const std::string& body,
                               ShowProgress show) {
  BuildProgress progress;
  RunEvents events([](bool, std::string_view) { return true; },
                   [&](std::string_view phase, std::string_view text) {
                     if (show == ShowProgress::kNo) return;
                     (void)write_all(STDERR_FILENO, progress.add(phase, text));
                   });
  http::ClientRequest request = post_request(target, body);
  request.headers = {{"Accept", "application/x-ndjson"}};
  TRY(const http::ClientResponse response, events.read_from(api, std::move(request)));
  LayerBuild build;
  build.refused = api.error_in(response);
  if (build.refused) return build;
  auto layer = events.take_result();
  if (layer) {
    layer->erase("event");
    build.layer = std::make_shared<const boost::json::object>(std::move(*layer));
    return build;
  }
  const std::string& code = events.failure_code();
  if (code.empty()) return fail(std::move(layer.error()));
  const std::string& message = layer.error().message();
  build.refused.emplace();
  build.refused->code = code;
  build.refused->message =
      code == "dependencies_failed" ? progress.failure_message(message) : message;
  return build;
}

std::optional<int> install_packages(const ServerLocationOptions& server,
                                    const wire::PackageOptions& packages,
                                    const std::string& template_name) {
  const auto wanted = wire::read_package_options(packages);
  if (!wanted) return usage_error(wanted.error().message());
  const boost::json::object body{
      {"dependencies", wire::dependencies_json(*wanted)},
      {"template", template_name.empty() ? wire::default_template(*wanted) : template_name}};
  auto api = ApiClient::connect(server);
  if (!api) return usage_error_or_failure(api.error());
  const auto build =
      build_layer(*api, "/v1/layers", boost::json::serialize(body), ShowProgress::kYes);
  if (!build) return failure(build.error());
  if (build->refused && build->refused->code == "dependencies_failed") {
    return server_refused(build->refused->message);
  }
  return std::nullopt;
}

}  // namespace glovebox::client
