// The templates of package sets: defined at the launcher on first use, warmed, kept while in use,
// and forgotten after a long idle time or when there are too many. The node defines them again at a
// new launcher; their interpreters start again on the next request.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/task.h"
#include "model/template.h"
#include "node/async/notifier.h"
#include "node/runs/run_job.h"
#include "node/sessions/session_service.h"
#include "node/templates/template_service.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

struct PackageSetTemplatesOptions {
  using Clock = std::chrono::steady_clock;
  // The launcher holds 256 for all servers, including the named templates of projects.
  std::size_t most = 180;
  std::size_t most_of_a_project = 64;
  // In any 60 seconds: each costs the launcher work and an interpreter start.
  std::size_t most_new_in_a_minute = 60;
  std::chrono::milliseconds ready_within{30'000};  // after that it runs cold
  std::chrono::milliseconds again_within{5'000};   // if it was ready before
  std::chrono::milliseconds launcher_within{3'000};
  std::chrono::milliseconds idle{3'600'000};
  std::chrono::milliseconds look_every{5};
  std::function<Clock::time_point()> now = [] { return Clock::now(); };
};

class PackageSetTemplates {
 public:
  PackageSetTemplates(asio::io_context& io, node::TemplateService& service,
                      node::SessionService& sessions, PackageSetTemplatesOptions options = {})
      : io_(io), service_(service), sessions_(sessions), options_(std::move(options)) {}

  struct Ready {
    std::string id;
    std::string cold_because;      // empty: its interpreter is ready
    std::shared_ptr<void> hold{};  // keeps the template
  };
  // A `definition` with an id is a project's own: defined here, removed by ProjectTemplates.
  // Without an id, one is derived. kInvalidArgument, kPolicy, kResourceExhausted: from the
  // launcher, or too many; kNotFound: a layer or the base is gone; kUnavailable.
  Task<Ready> ready(std::string project, TemplateDefinition definition, OnBuildProgress report,
                    std::shared_ptr<node::CancelFlag> cancel);

  enum class Holds : std::uint8_t {
    kNone,  // no template here uses this layer
    kIdle,  // templates use it, but no caller holds one and no session uses one
    kBusy,
  };
  Holds holds(const std::string& layer) const;
  // Forgets the idle templates of a layer; returns their number.
  std::size_t release(const std::string& layer);
  // Forgets templates that were idle for options.idle.
  void sweep();
  std::size_t size() const { return all_.size(); }

 private:
  using Clock = PackageSetTemplatesOptions::Clock;
  struct Entry {
    explicit Entry(asio::io_context& io) : notifier(io) {}
    node::Notifier notifier;
    std::string project;
    TemplateDefinition definition;
    bool is_derived = true;
    bool defined = false;
    bool was_ready = false;
    bool busy = false;  // it is being defined or warmed
    Clock::time_point used{};
  };
  using EntryPtr = std::shared_ptr<Entry>;

  Result<EntryPtr> entry_for(const std::string& project, const TemplateDefinition& definition,
                             bool is_derived);
  Result<> count_new(const std::string& project);
  Result<> make_room(const std::string& project);
  bool must_be_defined(const Entry& entry, const TemplateDefinition& definition) const;
  Task<> define(EntryPtr entry, TemplateDefinition definition,
                std::shared_ptr<node::CancelFlag> cancel);
  Task<std::string> warm(EntryPtr entry, std::shared_ptr<node::CancelFlag> cancel);
  std::set<std::string> of_sessions() const;
  bool is_project_owned(const Entry& entry) const;
  // Only the map refers to it.
  static bool is_idle(const EntryPtr& entry) { return entry.use_count() == 1 && !entry->busy; }
  void forget(std::map<std::string, EntryPtr>::iterator at);
  bool forget_oldest(const std::string* project);

  asio::io_context& io_;
  node::TemplateService& service_;
  node::SessionService& sessions_;
  PackageSetTemplatesOptions options_;
  std::map<std::string, EntryPtr> all_;                           // by id
  std::map<std::string, std::deque<Clock::time_point>> made_at_;  // by project, in the last minute
};

}  // namespace glovebox::packages
