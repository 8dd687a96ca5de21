// WS /v1/sandboxes/{id}/exec/stream: connects a client with a process. Output is read from the
// sandbox only as fast as the client takes it; the client's messages are handled concurrently.
#pragma once

#include <boost/asio/io_context.hpp>
#include <span>

#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/input_pump.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/processes/process_starter.h"
#include "sessions/sessions.h"

namespace glovebox::api {

class ExecStreamRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    const routing::Authenticator& authenticator;
    const routing::SandboxLookup& lookup;
    sessions::Sessions& sessions;
    sessions::InputPumps& inputs;
    sessions::ProcessStarter& processes;
    sessions::OomKillCounter& oom_kills;
    const bool& is_stopping;
  };
  explicit ExecStreamRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<ExecStreamRoutes>> rows();

  asio::awaitable<void> exec_stream(http::Request& request, http::RawStream& stream);

 private:
  const Dependencies deps_;
};

}  // namespace glovebox::api
