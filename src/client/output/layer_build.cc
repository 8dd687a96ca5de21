#include "client/output/layer_build.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "base/write_all.h"
#include "client/output/build_progress.h"
#include "client/output/run_events.h"

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

}  // namespace glovebox::client
