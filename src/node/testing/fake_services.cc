#include "node/testing/fake_services.h"
#include "node/links/launcher_error.h"

#include <algorithm>

namespace glovebox::node {

Task<RunReport> FakeNode::run(RunJob job, RunSink& sink, std::shared_ptr<CancelFlag> cancel) {
  jobs.push_back(job);
  co_return co_await play(std::move(job), sink, std::move(cancel));
}

const TemplateStatus* FakeNode::find_template(std::string_view name) const {
  for (const TemplateStatus& status : known) {
    if (status.description.name == name) return &status;
  }
  return nullptr;
}

void FakeTemplateService::keep(std::vector<TemplateDefinition> definitions) {
  for (TemplateDefinition& one : definitions) defined.push_back(std::move(one));
}

Task<> FakeTemplateService::define(TemplateDefinition definition) {
  if (refuses) co_return fail(*refuses);
  const TemplateStatus* base = node_.find_template(definition.from);
  if (base == nullptr) co_return fail(Errc::kNotFound, "from: there is none");
  TemplateStatus made = *base;
  made.description.name = definition.id;
  made.description.built_in = false;
  made.description.preload = definition.preload;
  made.description.env = definition.env;
  known[definition.id] = std::move(made);
  defined.push_back(std::move(definition));
  co_return Result<>{};
}

void FakeTemplateService::forget(const std::string& id) {
  const std::string gone = id;
  known.erase(gone);
  std::erase_if(defined, [&](const auto& one) { return one.id == gone; });
}

const TemplateStatus* FakeTemplateService::find(std::string_view id) const {
  const auto at = known.find(id);
  return at == known.end() ? nullptr : &at->second;
}

std::optional<Error> FakeTemplateService::refusal_of(std::string_view id) const {
  const auto at = refusals.find(std::string(id));
  return at == refusals.end() ? std::nullopt : std::optional<Error>(at->second);
}

Task<std::shared_ptr<Session>> FakeSessionService::create_session(SessionSpec spec,
                                                                  std::shared_ptr<CancelFlag>) {
  if (!make) co_return fail(launcher_error("there is no launcher"));
  CO_TRY(std::shared_ptr<Session> session, make(spec));
  alive[session->id()] = session;
  co_return session;
}

std::shared_ptr<Session> FakeSessionService::find_session(const SandboxId& id) const {
  const auto found = alive.find(id);
  return found == alive.end() ? nullptr : found->second;
}

std::vector<SandboxId> FakeSessionService::sessions() const {
  std::vector<SandboxId> ids;
  for (const auto& [id, session] : alive) ids.push_back(id);
  return ids;
}

Task<> FakeSessionService::destroy_session(SandboxId id) {
  destroyed.push_back(id);
  if (alive.erase(id) == 0) co_return fail(Errc::kNotFound, "there is no such session");
  SessionEnded end{.id = id, .reason = EndReason::kDestroyed, .usage = {}, .why = {}};
  end.was_asked = true;
  if (ended) ended(end);
  co_return Result<>{};
}

Task<> FakeSessionService::pause_session(SandboxId id) {
  paused.push_back(id);
  co_return Result<>{};
}

Task<> FakeSessionService::resume_session(SandboxId id) {
  resumed.push_back(id);
  co_return Result<>{};
}

Task<SessionUsage> FakeSessionService::measure_session(SandboxId id) {
  if (!find_session(id)) co_return fail(Errc::kNotFound, "there is no such session");
  co_return usage;
}

FakeNode::Play says(std::string out) {
  return [out](RunJob, RunSink& sink, std::shared_ptr<CancelFlag>) -> Task<RunReport> {
    RunReport report;
    report.warm = true;
    report.results = {R"({"type":"result","mime":{"text/plain":"2"},"main":true})"};
    co_await sink.on_output(false, out);
    co_await sink.on_result(report.results[0]);
    co_return report;
  };
}

FakeNode::Play refuses(Errc code, std::string message) {
  return [code, message](RunJob, RunSink&, std::shared_ptr<CancelFlag>) -> Task<RunReport> {
    co_return fail(code, message);
  };
}

Task<> FakeNetworkService::set_network(SandboxId id, std::string tenant, net::NetPolicy policy) {
  if (refuses) co_return fail(*refuses);
  set.insert_or_assign(id, Known{std::move(tenant), std::move(policy)});
  co_return Result<>();
}

void FakeNetworkService::restore_network(SandboxId id, std::string tenant, net::NetPolicy policy) {
  restored.insert_or_assign(id, Known{std::move(tenant), std::move(policy)});
}

Task<wire::NetworkFigures> FakeNetworkService::read_network(SandboxId id) {
  if (refuses) co_return fail(*refuses);
  if (!set.contains(id) && !restored.contains(id)) co_return fail(Errc::kNotFound, "never");
  co_return figures;
}

}  // namespace glovebox::node
