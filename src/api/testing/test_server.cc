#include "api/testing/test_server.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <stdexcept>

#include "api/network_events.h"
#include "base/id.h"
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

asio::awaitable<void> handle(TestServer& test, std::shared_ptr<Exchange> exchange,
                             std::function<void(Answer)> done) {
  http::Request& request = exchange->request;
  const std::string raw = request.target.substr(0, request.target.find('?'));
  http::Router::Match match = test.router.find(request.method, raw);
  Result<http::Response> result = http::Response::refuse(404, "not_found", "no route");
  const http::Route* first = test.api->route_first(request);
  if (first != nullptr) match.route = first;
  if (match.route != nullptr) {
    if (first == nullptr) request.path_params = std::move(match.params);
    request.route = match.route->pattern;
    const http::Route& route = *match.route;
    if (auto refused = route.admit ? route.admit(request) : std::nullopt) {
      result = std::move(*refused);
    } else {
      // Like the server: an exception is an error of this one request.
      try {
        result = co_await match.route->handler(request, exchange->writer);
      } catch (const std::exception& error) {
        result = fail(Errc::kInternal, error.what());
      }
    }
  }
  // Like the server: a refusal has the form that the route's clients expect.
  if (match.route != nullptr && match.route->error_form) {
    const bool is_refusal = result ? result->problem.has_value() : !exchange->writer.begun();
    if (is_refusal) {
      const http::Response refused = result ? *result : http::Response::from_error(result.error());
      result = match.route->error_form(refused, result ? nullptr : &result.error());
    }
  }
  done(as_answer(result, exchange->writer));
}

}  // namespace

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

TestServer::TestServer(ApiSettings settings, sessions::SessionOptions options,
                       snapshots::SnapshotStoreOptions snapshot_options,
                       store::Retention retention) {
  directory = std::filesystem::temp_directory_path() / ("gbx-api-" + random_label(12));
  std::filesystem::create_directories(directory);
  store::StoreOptions store_options;
  store_options.directory = (directory / "store").string();
  store_options.post = [this](std::function<void()> call) { asio::post(io, std::move(call)); };
  store_options.retention = retention;
  auto opened = store::SqliteStore::open(store_options);
  if (!opened) throw std::runtime_error(opened.error().message());
  store = std::move(*opened);
  admin_key = **store->ensure_admin_key();
  node.play = node::says("2\n");
  node.now.launcher_up = true;
  node.known = {made_template("base", RuntimeKind::kNone, "shell"),
                made_template("python", RuntimeKind::kPython, "python"),
                made_template("node", RuntimeKind::kNode, "javascript")};
  settings.log_requests = false;
  settings.secret = "a secret of the tests";
  settings_ = std::move(settings);
  templates = std::make_unique<templates::ProjectTemplates>(node, template_service, *store,
                                                            ServerApi::reserved_template_names());
  snapshot_options.directory = (directory / "snapshots").string();
  snapshots = std::make_unique<snapshots::SnapshotStore>(io, *store, std::move(snapshot_options));
  if (auto loaded = snapshots->load(); !loaded) {
    throw std::runtime_error(loaded.error().message());
  }
  publish_network_events(networks, events, sessions);
  build(std::move(options));
}

void TestServer::restart(sessions::SessionOptions options) {
  api.reset();
  images.reset();
  session_services.reset();
  build(std::move(options));
}

void TestServer::build(sessions::SessionOptions options) {
  options.ceiling = settings_.ceiling;
  const sessions::SessionServicesDependencies session_dependencies{
      io, session_service, node, networks, *store, usage, events, *templates, *snapshots};
  session_services =
      std::make_unique<sessions::SessionServices>(session_dependencies, std::move(options));
  if (auto started = session_services->start(); !started) {
    throw std::runtime_error(started.error().message());
  }
  const images::ImageService::Services image_services{io, session_service, layers, packages};
  images::ImageServiceOptions image_options;
  image_options.directory = (directory / "images").string();
  images = std::make_unique<images::ImageService>(image_services, std::move(image_options));
  const ServerApi::Dependencies api_dependencies{io,       node,    session_service,   *store,
                                                 usage,    events,  *templates,        *snapshots,
                                                 packages, *images, *session_services, sessions};
  api = std::make_unique<ServerApi>(api_dependencies, settings_);
  router = api->make_router();
}

TestServer::~TestServer() {
  store.reset();
  std::filesystem::remove_all(directory);
}

void TestServer::begin(http::Method method, std::string target, std::string key, std::string body,
                       http::Headers headers, std::function<void(Answer)> done) {
  auto exchange = std::make_shared<Exchange>();
  http::Request& request = exchange->request;
  request.method = method;
  request.target = std::move(target);
  request.headers = std::move(headers);
  const std::string* host = request.headers.find("Host");
  request.host = host != nullptr ? *host : "localhost";
  if (!key.empty()) request.headers.add("X-API-Key", std::move(key));
  request.body = std::move(body);
  request.id = "rq" + random_label(20);
  const std::size_t mark = request.target.find('?');
  request.path = request.target.substr(0, mark);
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

Answer TestServer::send(http::Method method, std::string target, std::string key, std::string body,
                        http::Headers headers) {
  std::optional<Answer> answer;
  begin(method, std::move(target), std::move(key), std::move(body), std::move(headers),
        [&](Answer given) { answer = std::move(given); });
  run_until([&] { return answer.has_value(); });
  return answer.value_or(Answer{});
}

void TestServer::run_until(const std::function<bool()>& ready) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  auto work = asio::make_work_guard(io);
  io.restart();
  while (!ready()) {
    io.run_one_for(std::chrono::milliseconds(200));
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "the awaited condition did not occur";
      return;
    }
  }
}

std::string TestServer::make_key(std::string project, store::KeyRole role,
                                 store::KeyLimits limits) {
  store::NewKey key{.project = std::move(project), .name = "test", .role = role, .limits = limits};
  std::string secret;
  store->create_key(key, [&](Result<store::CreatedKey> created) { secret = created->secret; });
  run_until([&] { return !secret.empty(); });
  return secret;
}

}  // namespace glovebox::api
