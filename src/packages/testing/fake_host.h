// Fakes for tests: the administrator's templates, a launcher that accepts definitions, and sessions
// that are only names.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "node/templates/template_service.h"

namespace glovebox::packages {

class HostTemplates final : public node::RunService {
 public:
  HostTemplates() {
    add("python", RuntimeKind::kPython);
    add("node", RuntimeKind::kNode);
    add("base", RuntimeKind::kNone);
  }
  void add(std::string name, RuntimeKind runtime) {
    TemplateStatus status;
    status.description.name = std::move(name);
    status.description.runtime = runtime;
    status.state = RuntimeState::kReady;
    all.push_back(std::move(status));
  }

  Task<node::RunReport> run(node::RunJob, node::RunSink&,
                            std::shared_ptr<node::CancelFlag>) override {
    co_return fail(Errc::kUnsupported, "runs nothing");
  }
  std::vector<TemplateStatus> templates() const override { return all; }
  const TemplateStatus* find_template(std::string_view name) const override {
    for (const TemplateStatus& one : all) {
      if (one.description.name == name) return &one;
    }
    return nullptr;
  }
  node::NodeFigures figures() const override { return {}; }

  std::vector<TemplateStatus> all;
};

class DefinedTemplates final : public node::TemplateService {
 public:
  void keep(std::vector<TemplateDefinition>) override {}
  Task<> define(TemplateDefinition definition) override {
    asked.push_back(definition);
    if (!refusals.empty()) {
      const Error refusal = refusals.front();
      refusals.erase(refusals.begin());
      co_return fail(refusal);
    }
    if (layers_gone.contains(definition.layers.empty() ? "" : definition.layers.front())) {
      co_return fail(Errc::kNotFound, "layer: there is none");
    }
    TemplateStatus status;
    status.description.name = definition.id;
    status.description.runtime = runtime;
    status.state = state;
    status.error = error;
    known[definition.id] = status;
    all[definition.id] = definition;
    co_return Result<>();
  }
  void set_pools(const std::string&, TemplatePools) override {}
  void forget(const std::string& id) override {
    forgotten.push_back(id);
    known.erase(forgotten.back());
    all.erase(forgotten.back());
  }
  const TemplateStatus* find(std::string_view id) const override {
    const auto at = known.find(id);
    return at == known.end() ? nullptr : &at->second;
  }
  bool settled() const override { return true; }
  std::optional<Error> refusal_of(std::string_view id) const override {
    const auto at = later_refusals.find(id);
    return at == later_refusals.end() ? std::nullopt : std::optional<Error>(at->second);
  }

  RuntimeState state = RuntimeState::kReady;  // of templates defined from now on
  RuntimeKind runtime = RuntimeKind::kPython;
  std::string error;
  std::vector<Error> refusals;        // of the next definitions
  std::set<std::string> layers_gone;  // that definitions cannot name
  std::map<std::string, Error, std::less<>> later_refusals;
  std::vector<TemplateDefinition> asked;
  std::map<std::string, TemplateDefinition> all;
  std::map<std::string, TemplateStatus, std::less<>> known;
  std::vector<std::string> forgotten;
};

// Only the template of a session is used.
class NamedSession final : public node::Session {
 public:
  NamedSession(SandboxId id, std::string name) : id_(std::move(id)), name_(std::move(name)) {}
  const SandboxId& id() const override { return id_; }
  const WallSet& walls() const override { return walls_; }
  const std::string& template_name() const override { return name_; }
  bool alive() const override { return true; }
  Task<Started> start(node::ProcessSpec, Attach) override { co_return no<Started>(); }
  std::vector<node::ProcessInfo> processes() const override { return {}; }
  std::optional<node::ProcessInfo> find_process(wire::ProcessNumber) const override { return {}; }
  Task<std::unique_ptr<node::Attachment>> attach(wire::ProcessNumber, node::AttachFrom) override {
    co_return no<std::unique_ptr<node::Attachment>>();
  }
  Task<> write_input(wire::ProcessNumber, wire::Stream, std::string) override {
    co_return no<void>();
  }
  Task<> close_input(wire::ProcessNumber, wire::Stream) override { co_return no<void>(); }
  Result<> signal(wire::ProcessNumber, int, bool) override { return no<void>(); }
  Result<> resize(wire::ProcessNumber, TerminalSize) override { return no<void>(); }
  Result<> set_lossy(wire::ProcessNumber, bool) override { return no<void>(); }
  Result<> forget(wire::ProcessNumber) override { return no<void>(); }
  Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber,
                                   std::chrono::steady_clock::time_point) override {
    co_return no<wire::ProcessEnd>();
  }
  Task<wire::FileDone> file(wire::FileRequest) override { co_return no<wire::FileDone>(); }
  Task<std::unique_ptr<node::FileTransfer>> transfer(wire::FileRequest) override {
    co_return no<std::unique_ptr<node::FileTransfer>>();
  }
  Task<UniqueFd> connect_port(std::uint16_t) override { co_return no<UniqueFd>(); }
  Task<> end_processes() override { co_return no<void>(); }

 private:
  template <class T>
  static Result<T> no() {
    return fail(Errc::kUnsupported, "it is only a name");
  }
  SandboxId id_;
  std::string name_;
  WallSet walls_;
};

class NamedSessions final : public node::SessionService {
 public:
  void add(std::string template_name) {
    const SandboxId id = SandboxId::make();
    all[id] = std::make_shared<NamedSession>(id, std::move(template_name));
  }
  Task<std::shared_ptr<node::Session>> create_session(node::SessionSpec,
                                                      std::shared_ptr<node::CancelFlag>) override {
    co_return fail(Errc::kUnsupported, "makes none");
  }
  std::shared_ptr<node::Session> find_session(const SandboxId& id) const override {
    const auto at = all.find(id);
    return at == all.end() ? nullptr : at->second;
  }
  std::vector<SandboxId> sessions() const override {
    std::vector<SandboxId> ids;
    for (const auto& [id, session] : all) ids.push_back(id);
    return ids;
  }
  bool adopted() const override { return true; }
  Task<> destroy_session(SandboxId) override { co_return Result<>(); }
  Task<> pause_session(SandboxId) override { co_return Result<>(); }
  Task<> resume_session(SandboxId) override { co_return Result<>(); }
  Task<node::SessionUsage> measure_session(SandboxId) override { co_return node::SessionUsage{}; }
  void on_session_ended(std::function<void(const node::SessionEnded&)>) override {}
  void on_adopted(std::function<void()>) override {}

  std::map<SandboxId, std::shared_ptr<node::Session>> all;
};

}  // namespace glovebox::packages
