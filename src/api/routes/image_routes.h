// /v1/images: file systems of other origins that sandboxes can be made of. Loads them from archives
// that clients send, pulls them from registries, lists, shows, publishes, pins and removes them.
#pragma once

#include <span>

#include "http/message.h"
#include "images/image_service.h"
#include "routing/authenticator.h"
#include "routing/large_responses.h"
#include "routing/route_table.h"
#include "routing/worker.h"
#include "runs/metrics.h"
#include "store/key_usage.h"

namespace glovebox::api {

class ImageRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    images::ImageService& images;
    store::KeyUsage& usage;
    runs::Metrics& metrics;
    routing::LargeResponses& responses;
    routing::Worker& worker;
  };
  explicit ImageRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ImageRoutes>> rows();

  Task<http::Response> list_images(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> load_image(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> pull_image(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_image(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> change_image(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> remove_image(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> prune_images(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
