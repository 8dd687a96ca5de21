// Creates, lists, interrupts and deletes code contexts of a session. code_routes.cc runs code in
// them.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"
#include "sessions/contexts/context_table.h"

namespace glovebox::api {

class ContextRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    sessions::Contexts& contexts;
  };
  explicit ContextRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ContextRoutes>> rows();

  Task<http::Response> create_context(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_contexts(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_context(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_context(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> interrupt_context(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
