// See test_app.h.
#include "api/testing/test_app.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/json.hpp>

#include "base/id.h"
#include "api/network_events.h"
#include "http/status.h"

namespace glovebox::api {
namespace {

TemplateStatus made_template(std::string name, RuntimeKind runtime, std::string language) {
  TemplateStatus status;
  status.description.name = std::move(name);
  status.description.runtime = runtime;
  status.description.language = std::move(language);
  status.description.built_in = true;
  status.state = RuntimeState::kReady;
  return status;
}

Answer as_answer(const Result<http::Response>& result, const RecordingWriter& writer) {
  const http::Response response = result ? *result : http::Response::from_error(result.error());
  if (response.is_streamed) return {writer.status, writer.headers, writer.body, true};
  Answer answer{response.status, response.headers, response.body, false};
  if (response.problem) {
    answer.body = http::error_body(response.problem->code, response.problem->message, "rq1");
  }
  return answer;
}

// Owns what a handler borrows.
struct Exchange {
  http::Request request;
  RecordingWriter writer;
  std::shared_ptr<FakeConnection> connection;
};

asio::awaitable<void> handle(TestApp& test, std::shared_ptr<Exchange> exchange,
                             std::function<void(Answer)> done) {
  http::Request& request = exchange->request;
  const std::string raw = request.target.substr(0, request.target.find('?'));
  http::Router::Match match = test.router.find(request.method, raw);
  Result<http::Response> result = http::Response::refuse(404, "not_found", "no route");
  if (match.route != nullptr) {
    request.path_params = std::move(match.params);
    request.route = match.route->pattern;
    if (auto refused = admit(*test.app, request)) {
      result = std::move(*refused);
    } else {
      // As the server does: what is thrown is an error of this one request.
      try {
        result = co_await match.route->handler(request, exchange->writer);
      } catch (const std::exception& error) {
        result = fail(Errc::kInternal, error.what());
      }
    }
  }
  done(as_answer(result, exchange->writer));
}

}  // namespace

Task<node::RunReport> FakeNode::run(node::RunJob job, node::RunSink& sink,
                                    std::shared_ptr<node::CancelFlag> cancel) {
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

Task<std::shared_ptr<node::Session>> FakeSessionService::create_session(
    node::SessionSpec spec, std::shared_ptr<node::CancelFlag>) {
  if (!make) co_return fail(Errc::kUnavailable, "there is no launcher");
  CO_TRY(std::shared_ptr<node::Session> session, make(spec));
  alive[session->id()] = session;
  co_return session;
}

std::shared_ptr<node::Session> FakeSessionService::find_session(const SandboxId& id) const {
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
  node::SessionEnded end{.id = id, .reason = EndReason::kDestroyed, .usage = {}, .why = {}};
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

Task<node::SessionUsage> FakeSessionService::measure_session(SandboxId id) {
  if (!find_session(id)) co_return fail(Errc::kNotFound, "there is no such session");
  co_return usage;
}

void FakeSessions::add(Known one) {
  const std::string id = one.session->id().str();
  known.insert_or_assign(id, std::move(one));
}

Result<std::shared_ptr<node::Session>> FakeSessions::use(const std::string& project,
                                                         std::string_view id) {
  const auto found = known.find(id);
  if (found == known.end() || (project != "*" && found->second.project != project)) {
    return fail(Errc::kNotFound, "there is no such sandbox");
  }
  if (found->second.state != "running") {
    return fail(Errc::kConflict, "the sandbox is " + found->second.state);
  }
  return found->second.session;
}

std::vector<std::string> FakeSessions::environment(const SandboxId& id) const {
  const auto found = known.find(id.str());
  return found == known.end() ? std::vector<std::string>{} : found->second.env;
}

void FakeSessions::note(const SandboxId&, std::string_view kind, std::string message,
                        std::uint64_t) {
  notes.push_back(std::string(kind) + ": " + message);
}

sessions::Sessions::Door FakeSessions::door(std::string_view id) {
  const auto found = known.find(id);
  if (found == known.end() || found->second.state != "running") return {};
  return {found->second.session, found->second.token};
}

FakeNode::Play says(std::string out) {
  return [out](node::RunJob, node::RunSink& sink,
               std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
    node::RunReport report;
    report.warm = true;
    report.results = {R"({"type":"result","mime":{"text/plain":"2"},"main":true})"};
    co_await sink.on_output(false, out);
    co_await sink.on_result(report.results[0]);
    co_return report;
  };
}

FakeNode::Play refuses(Errc code, std::string message) {
  return [code, message](node::RunJob, node::RunSink&,
                         std::shared_ptr<node::CancelFlag>) -> Task<node::RunReport> {
    co_return fail(code, message);
  };
}

asio::awaitable<bool> RecordingWriter::begin(int new_status, http::Headers new_headers) {
  status = new_status;
  headers = std::move(new_headers);
  co_return true;
}
asio::awaitable<bool> RecordingWriter::write(std::string bytes) {
  body += bytes;
  co_return true;
}
asio::awaitable<bool> RecordingWriter::finish() {
  finished = true;
  co_return true;
}

std::string code_of(const Answer& answer) {
  return std::string(boost::json::parse(answer.body).at("error").at("code").as_string());
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

TestApp::TestApp(routing::AppSettings settings, sessions::KeeperOptions keeping) {
  directory = std::filesystem::temp_directory_path() / ("gbx-control-" + random_label(12));
  std::filesystem::create_directories(directory);
  store::StoreOptions options;
  options.directory = (directory / "store").string();
  options.post = [this](std::function<void()> call) { asio::post(io, std::move(call)); };
  auto opened = store::SqliteStore::open(options);
  if (!opened) throw std::runtime_error(opened.error().message());
  store = std::move(*opened);
  admin_key = **store->ensure_admin_key();
  node.play = says("2\n");
  node.now.launcher_up = true;
  node.known = {made_template("base", RuntimeKind::kNone, "shell"),
                made_template("python", RuntimeKind::kPython, "python"),
                made_template("node", RuntimeKind::kNode, "javascript")};
  settings.log_requests = false;
  keeping.networks = &networks;
  keeping.ceiling = settings.ceiling;
  settings.secret = "a secret of the tests";
  app = std::make_unique<routing::App>(io, node, session_service, *store, sessions, std::move(settings));
  templates = std::make_unique<templates::ProjectTemplates>(node, template_service, *store);
  app->templates = templates.get();
  app->networks = &networks;
  publish_network_events(*app);
  keeping.templates = templates.get();
  keeping.shelf.directory = (directory / "snapshots").string();
  keeper = std::make_unique<sessions::SessionKeeper>(io, session_service, node, *store, std::move(keeping));
  if (auto begun = keeper->begin(app->events, app->usage); !begun) {
    throw std::runtime_error(begun.error().message());
  }
  app->keeper = keeper.get();
  router = make_router(*app, http::kRunBodyLimit);
}

TestApp::~TestApp() {
  store.reset();
  std::filesystem::remove_all(directory);
}

void TestApp::begin(http::Method method, std::string target, std::string key, std::string body,
                    http::Headers headers, std::function<void(Answer)> done) {
  auto exchange = std::make_shared<Exchange>();
  http::Request& request = exchange->request;
  request.method = method;
  request.target = std::move(target);
  request.headers = std::move(headers);
  if (!key.empty()) request.headers.add("X-API-Key", std::move(key));
  request.body = std::move(body);
  request.id = "rq" + random_label(20);
  const std::size_t mark = request.target.find('?');
  if (mark != std::string::npos) {
    std::string_view query = std::string_view(request.target).substr(mark + 1);
    while (!query.empty()) {
      const std::string_view pair = query.substr(0, query.find('&'));
      query.remove_prefix(std::min(pair.size() + 1, query.size()));
      const std::size_t equals = pair.find('=');
      request.query.add(std::string(pair.substr(0, equals)), std::string(pair.substr(equals + 1)));
    }
  }
  exchange->connection = connection;
  request.source = exchange->connection.get();
  asio::co_spawn(io, handle(*this, exchange, std::move(done)), asio::detached);
}

Answer TestApp::send(http::Method method, std::string target, std::string key, std::string body,
                     http::Headers headers) {
  std::optional<Answer> answer;
  begin(method, std::move(target), std::move(key), std::move(body), std::move(headers),
        [&](Answer given) { answer = std::move(given); });
  run_until([&] { return answer.has_value(); });
  return answer.value_or(Answer{});
}

void TestApp::run_until(const std::function<bool()>& ready) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  auto work = asio::make_work_guard(io);
  io.restart();
  while (!ready()) {
    io.run_one_for(std::chrono::milliseconds(200));
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "what was waited for did not happen";
      return;
    }
  }
}

std::string TestApp::make_key(std::string project, store::KeyRole role, store::KeyLimits limits) {
  store::NewKey key{.project = std::move(project), .name = "test", .role = role, .limits = limits};
  std::string secret;
  store->create_key(key, [&](Result<store::CreatedKey> created) { secret = created->secret; });
  run_until([&] { return !secret.empty(); });
  return secret;
}

}  // namespace glovebox::api
