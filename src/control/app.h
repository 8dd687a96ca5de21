// What the handlers of all routes share: the host that runs code, what is remembered, and the
// figures. Lives on the server's one thread, longer than any request.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/event_hub.h"
#include "control/held_output.h"
#include "control/metrics.h"
#include "http/server.h"
#include "model/wall.h"
#include "node/run_service.h"
#include "store/key_usage.h"
#include "store/store.h"

namespace glovebox::control {

struct AppSettings {
  // Off loopback, /metrics and /docs need a key.
  bool is_loopback = true;
  EngineKind engine = EngineKind::kJail;
  std::optional<Grade> min_grade;  // the administrator's floor; a request may only raise it
  bool log_requests = true;
  std::string version;
  std::uint64_t max_held_output = 512ull << 20;
};

struct App {
  App(boost::asio::io_context& context, node::RunService& node_, store::Store& store_,
      AppSettings settings_)
      : io(context),
        node(node_),
        store(store_),
        settings(std::move(settings_)),
        held_output(settings.max_held_output),
        events(context.get_executor()) {}

  boost::asio::io_context& io;
  node::RunService& node;
  store::Store& store;
  AppSettings settings;
  HeldOutput held_output;
  // For what would keep the server's one thread from everybody else: answers of many megabytes.
  boost::asio::thread_pool worker{1};
  store::KeyUsage usage;
  Metrics metrics;
  EventHub events;
  std::function<http::ServerFigures()> http_figures;  // set when there is a server
  bool stopping = false;                              // no longer ready
};

}  // namespace glovebox::control
