// Lists, shows, signals, waits for, writes to and deletes the processes of a session.
#pragma once

#include <span>

#include "http/message.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/input_pump.h"

namespace glovebox::api {

class ProcessRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::SandboxLookup& lookup;
    sessions::InputPumps& inputs;
  };
  explicit ProcessRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ProcessRoutes>> rows();

  Task<http::Response> list_processes(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get_process(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> signal_process(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> wait_process(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> write_process(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> delete_process(http::Request& request, http::ResponseWriter& writer);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
