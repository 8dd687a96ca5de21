// /v1/keys: API keys, for admin keys only.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/route_table.h"
#include "store/store.h"

namespace glovebox::api {

class KeyRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    store::Store& store;
  };
  explicit KeyRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<KeyRoutes>> rows();

  Task<http::Response> create_key(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_keys(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> revoke_key(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
