// Has the launcher create sandboxes: how many at once, which of them are overdue, whether this host
// can give them a network, and when a launcher that was full is asked again. Does not decide which
// sandboxes are needed. One thread, no locks.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "node/links/launcher_link.h"
#include "node/node_options.h"
#include "node/pools/budget.h"
#include "node/pools/template_table.h"
#include "node/runs/run_service.h"
#include "node/sandboxes/sandbox.h"

namespace glovebox::node {

// A sandbox that the launcher is creating.
struct SandboxCreation {
  UniqueFd socket;
  Charge charge;
  Sandbox::Make make;
  std::string template_name;
  bool network = false;  // one was asked for
  bool session = false;
  bool late = false;     // its runtime takes long: it no longer counts as under way
  bool overdue = false;  // and no other of its template comes: another is created in its place
  std::function<void()> on_overdue = {};
  std::unique_ptr<ReuseSlot> reuse = {};  // of a reusable one
};

class SandboxCreator {
 public:
  // On failure the creation still holds its charge, for another try.
  using Done = std::function<void(SandboxCreation&, Result<std::unique_ptr<Sandbox>>)>;

  // All outlive this object.
  SandboxCreator(boost::asio::io_context& io, LauncherLink& launcher, TemplateTable& templates,
                 const NodeOptions& options);
  ~SandboxCreator() { *gone_ = true; }
  SandboxCreator(const SandboxCreator&) = delete;
  SandboxCreator& operator=(const SandboxCreator&) = delete;

  void launcher_attached();
  void stop() { stopped_ = true; }

  // Whether another one may be asked for now.
  bool may_create() const;
  bool is_busy() const { return creating_ >= options_.max_creates; }
  // Why the launcher refused the last one for want of room; empty: it did not.
  const std::string& full_reason() const { return full_reason_; }

  // `done` is called once, later, never from in here. `on_overdue` is called at most once, before
  // it: the creation is held up by a runtime that does not come.
  void create(wire::CreateSandbox request, Charge charge, Done done,
              std::function<void()> on_overdue = {}, std::unique_ptr<ReuseSlot> reuse = nullptr);
  // The call in a reusable sandbox is over: it is cleaned for the next one. As create(), but it
  // takes no place among those that are being created. False: it cannot be, and `done` is not
  // called.
  bool recycle(Sandbox& sandbox, bool hurry, Done done);
  // As recycle(), for one whose runtime stays (ReuseSlot::kept).
  bool keep(Sandbox& sandbox, Done done);
  const EngineFigures& made() const { return made_; }
  // Learns from an error that `done` was given: when to ask again, and for what.
  void note_refusal(const SandboxCreation& creation, const Error& error);
  // Whether a warm sandbox was not created for want of its runtime, or because that took too long.
  static bool runtime_was_missing(const SandboxCreation& creation, const Error& error);
  // A zygote that is stuck holds a creation up until the launcher gives up on it. Meanwhile its
  // template counts as cold, and others are created. While sandboxes of the template still come, or
  // the launcher answers nothing at all, the host is only slow: then nothing becomes cold.
  void pass_overdue(Clock::time_point now);

  // A run with a network came: idle sandboxes are prepared for one for a while.
  void note_network_demand();
  bool prepares_networks() const;
  // False: this host could not do it a moment ago.
  bool can_give_network() const { return options_.now() >= no_network_until_; }

 private:
  using CreationPtr = std::shared_ptr<SandboxCreation>;
  // For a sandbox whose agent was asked what is left.
  boost::asio::awaitable<void> finish_keeping(CreationPtr creation, Sandbox* sandbox, Done done);
  void finish(const CreationPtr& creation, Result<wire::SandboxCreated> created, const Done& done);

  boost::asio::io_context& io_;
  LauncherLink& launcher_;
  TemplateTable& templates_;
  const NodeOptions& options_;
  std::vector<CreationPtr> creations_;
  // Their agents look at what is left.
  std::vector<std::unique_ptr<Sandbox>> being_checked_;
  std::uint32_t creating_ = 0;  // of those, without the overdue ones
  std::string full_reason_;
  EngineFigures made_;
  bool stopped_ = false;
  Clock::time_point create_not_before_{};
  Clock::time_point network_demand_until_{};
  Clock::time_point no_network_until_{};
  // Handlers that are still under way see that this object is gone.
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
};

}  // namespace glovebox::node
