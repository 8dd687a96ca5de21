// POST /v1/sandboxes/{id}/port-links: an address that opens a port of a sandbox in a browser.
#pragma once

#include <span>
#include <string>

#include "http/message.h"
#include "http/origin_rules.h"
#include "routing/port_links.h"
#include "routing/route_table.h"
#include "routing/sandbox_access.h"
#include "routing/sandbox_lookup.h"

namespace glovebox::api {

class PortLinkRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    const routing::SandboxAccess& access;
    routing::PortLinks& links;
    const http::OriginRules& origins;
    const std::string& domain;
  };
  explicit PortLinkRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<PortLinkRoutes>> rows();

  Task<http::Response> create_link(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
