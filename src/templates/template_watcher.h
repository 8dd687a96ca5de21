// Watches the runtimes of templates: publishes an event when one became ready, failed or went away,
// and lets requests wait for a launcher that has just started to report its templates.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <string>
#include <vector>

#include "base/task.h"
#include "events/event_hub.h"
#include "node/runs/run_service.h"
#include "templates/project_templates.h"

namespace glovebox::templates {

class TemplateWatcher {
 public:
  // All are borrowed and outlive this.
  TemplateWatcher(asio::io_context& io, const node::RunService& node,
                  const ProjectTemplates& templates, events::EventHub& events)
      : io_(io), node_(node), templates_(templates), events_(events), timer_(io) {}

  // Looks once a second until stop(); spawn it once.
  asio::awaitable<void> watch();
  void stop();

  // Returns when templates are known, or after two seconds.
  asio::awaitable<void> wait_until_known();

 private:
  // A template and whom it concerns: every project, or the one that made it.
  struct Watched {
    std::string id;
    std::string project;  // empty: all
    TemplateStatus status;
  };
  std::vector<Watched> all() const;
  bool is_known() const;
  void publish(const std::string& project, const TemplateStatus& status);

  asio::io_context& io_;
  const node::RunService& node_;
  const ProjectTemplates& templates_;
  events::EventHub& events_;
  asio::steady_timer timer_;
  bool is_stopping_ = false;
};

}  // namespace glovebox::templates
