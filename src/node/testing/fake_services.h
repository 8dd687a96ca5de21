// The node's services for tests: a host that runs nothing but what the test says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/networks/network_service.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "node/templates/template_service.h"

namespace glovebox::node {

class FakeNode final : public RunService {
 public:
  // What a run does: gets the job and the sink, gives the report.
  using Play = std::function<Task<RunReport>(RunJob, RunSink&, std::shared_ptr<CancelFlag>)>;
  Task<RunReport> run(RunJob job, RunSink& sink, std::shared_ptr<CancelFlag> cancel) override;
  std::vector<TemplateStatus> templates() const override { return known; }
  const TemplateStatus* find_template(std::string_view name) const override;
  NodeFigures figures() const override { return now; }

  Play play;
  std::vector<RunJob> jobs;  // as they came
  std::vector<TemplateStatus> known;
  NodeFigures now;
};

// What was defined, with the templates of a FakeNode.
class FakeTemplateService final : public TemplateService {
 public:
  explicit FakeTemplateService(FakeNode& node) : node_(node) {}
  void keep(std::vector<TemplateDefinition> definitions) override;
  Task<> define(TemplateDefinition definition) override;
  void set_pools(const std::string& id, TemplatePools wanted) override {
    pools.insert_or_assign(id, std::move(wanted));
  }
  void forget(const std::string& id) override;
  const TemplateStatus* find(std::string_view id) const override;
  bool settled() const override { return is_settled; }
  std::optional<Error> refusal_of(std::string_view id) const override;

  bool is_settled = true;
  std::optional<Error> refuses;           // every definition
  std::map<std::string, Error> refusals;  // by id, of those that were kept
  std::vector<TemplateDefinition> defined;
  std::map<std::string, TemplatePools> pools;                // by id
  std::map<std::string, TemplateStatus, std::less<>> known;  // by id

 private:
  FakeNode& node_;
};

// Sessions on a host that has only those the test puts there.
class FakeSessionService final : public SessionService {
 public:
  // What a creation gives; without it, creations are refused.
  std::function<Result<std::shared_ptr<Session>>(const SessionSpec&)> make;

  Task<std::shared_ptr<Session>> create_session(SessionSpec spec,
                                                std::shared_ptr<CancelFlag> cancel) override;
  std::shared_ptr<Session> find_session(const SandboxId& id) const override;
  std::vector<SandboxId> sessions() const override;
  bool adopted() const override { return is_adopted; }
  Task<> destroy_session(SandboxId id) override;
  Task<> pause_session(SandboxId id) override;
  Task<> resume_session(SandboxId id) override;
  Task<SessionUsage> measure_session(SandboxId id) override;
  void on_session_ended(std::function<void(const SessionEnded&)> call) override {
    ended = std::move(call);
  }
  void on_adopted(std::function<void()> call) override { adoption = std::move(call); }

  std::map<SandboxId, std::shared_ptr<Session>> alive;
  std::vector<SandboxId> paused;  // as it was asked for
  std::vector<SandboxId> resumed;
  std::vector<SandboxId> destroyed;
  SessionUsage usage;  // of any
  bool is_adopted = true;
  std::function<void(const SessionEnded&)> ended;
  std::function<void()> adoption;
};

// Networks as the test has them, and what was asked of them.
class FakeNetworkService final : public NetworkService {
 public:
  bool gateway_up() const override { return !refuses; }
  Task<> set_network(SandboxId id, std::string tenant, net::NetPolicy policy) override;
  void restore_network(SandboxId id, std::string tenant, net::NetPolicy policy) override;
  void restored_all() override { is_restored = true; }
  Task<wire::NetworkFigures> read_network(SandboxId id) override;
  void on_decided(std::function<void(const Decided&)> call) override { decided = std::move(call); }
  void on_restarted(std::function<void(const Restarted&)> call) override {
    restarted = std::move(call);
  }

  struct Known {
    std::string tenant;
    net::NetPolicy policy;
  };
  std::map<SandboxId, Known> set;       // by set_network()
  std::map<SandboxId, Known> restored;  // by restore_network()
  wire::NetworkFigures figures;         // of any
  std::optional<Error> refuses;         // everything
  bool is_restored = false;
  std::function<void(const Decided&)> decided;
  std::function<void(const Restarted&)> restarted;
};

// Prints `out`, shows 2, ends well.
FakeNode::Play says(std::string out);
FakeNode::Play refuses(Errc code, std::string message);

}  // namespace glovebox::node
