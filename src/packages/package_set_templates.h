// The templates of sets: defined with the launcher when they are first asked for, warmed, kept
// while they are used, and forgotten when nobody has for long or there are too many. A new launcher
// is told of them by the node; its interpreter is started again when somebody asks.
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
  // The launcher has 256 of all servers, those that projects made by name among them.
  std::size_t most = 180;
  std::size_t most_of_a_project = 64;
  // In any 60 seconds: each is work for the launcher, and an interpreter that is started.
  std::size_t most_new_in_a_minute = 60;
  std::chrono::milliseconds ready_within{30'000};  // then it runs cold
  std::chrono::milliseconds again_within{5'000};   // one that had been ready
  std::chrono::milliseconds launcher_within{3'000};
  std::chrono::milliseconds idle{3'600'000};
  std::chrono::milliseconds look_every{5};
  std::function<Clock::time_point()> now = [] { return Clock::now(); };
};

class PackageSetTemplates {
 public:
  PackageSetTemplates(asio::io_context& io, node::TemplateService& service, node::SessionService& sessions,
               PackageSetTemplatesOptions options = {})
      : io_(io), service_(service), sessions_(sessions), options_(std::move(options)) {}

  struct Ready {
    std::string id;
    std::string cold_because;      // empty: its interpreter waits
    std::shared_ptr<void> hold{};  // while it is there, the template is
  };
  // `definition` has everything but perhaps its id. One with an id is a project's own, which is
  // defined here and forgotten elsewhere. kInvalidArgument, kPolicy, kResourceExhausted: as the
  // launcher says, or too many; kNotFound: a layer or the base is gone; kUnavailable.
  Task<Ready> ready(std::string project, TemplateDefinition definition, OnBuildProgress say,
                    std::shared_ptr<node::CancelFlag> cancel);

  enum class Holds : std::uint8_t {
    kNone,  // no template of ours is of this layer
    kIdle,  // those that are can be forgotten: nobody holds one, and no session is of one
    kBusy,
  };
  Holds holds(const std::string& layer) const;
  // Forgets those of a layer that can be; how many.
  std::size_t release(const std::string& layer);
  // Forgets what has been idle for long.
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
    bool busy = false;  // somebody is defining or warming it
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
  bool is_of_a_project(const Entry& entry) const;
  // Nobody holds it but the map.
  static bool is_idle(const EntryPtr& entry) { return entry.use_count() == 1 && !entry->busy; }
  void forget(std::map<std::string, EntryPtr>::iterator at);
  bool forget_oldest(const std::string* project);

  asio::io_context& io_;
  node::TemplateService& service_;
  node::SessionService& sessions_;
  PackageSetTemplatesOptions options_;
  std::map<std::string, EntryPtr> all_;                           // by id
  std::map<std::string, std::deque<Clock::time_point>> made_at_;  // by project, of the last minute
};

}  // namespace glovebox::packages
