// An App for tests: the real routes and the real store, and a host that runs nothing but what the
// test says.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "routing/app.h"
#include "api/routes.h"
#include "sessions/session_keeper.h"
#include "templates/project_templates.h"
#include "store/sqlite_store.h"

namespace glovebox::api {

class FakeNode final : public node::RunService {
 public:
  // What a run does: gets the job and the sink, gives the report.
  using Play = std::function<Task<node::RunReport>(node::RunJob, node::RunSink&,
                                                   std::shared_ptr<node::CancelFlag>)>;
  Task<node::RunReport> run(node::RunJob job, node::RunSink& sink,
                            std::shared_ptr<node::CancelFlag> cancel) override;
  std::vector<TemplateStatus> templates() const override { return known; }
  const TemplateStatus* find_template(std::string_view name) const override;
  node::NodeFigures figures() const override { return now; }

  Play play;
  std::vector<node::RunJob> jobs;  // as they came
  std::vector<TemplateStatus> known;
  node::NodeFigures now;
};

// What was defined, with the templates of a FakeNode.
class FakeTemplateService final : public node::TemplateService {
 public:
  explicit FakeTemplateService(FakeNode& node) : node_(node) {}
  void keep(std::vector<TemplateDefinition> definitions) override;
  Task<> define(TemplateDefinition definition) override;
  void forget(const std::string& id) override;
  const TemplateStatus* find(std::string_view id) const override;
  bool settled() const override { return is_settled; }
  std::optional<Error> refusal_of(std::string_view id) const override;

  bool is_settled = true;
  std::optional<Error> refuses;           // every definition
  std::map<std::string, Error> refusals;  // by id, of those that were kept
  std::vector<TemplateDefinition> defined;
  std::map<std::string, TemplateStatus, std::less<>> known;  // by id

 private:
  FakeNode& node_;
};

// Sessions on a host that has only those the test puts there.
class FakeSessionService final : public node::SessionService {
 public:
  // What a creation gives; without it, creations are refused.
  std::function<Result<std::shared_ptr<node::Session>>(const node::SessionSpec&)> make;

  Task<std::shared_ptr<node::Session>> create_session(
      node::SessionSpec spec, std::shared_ptr<node::CancelFlag> cancel) override;
  std::shared_ptr<node::Session> find_session(const SandboxId& id) const override;
  std::vector<SandboxId> sessions() const override;
  bool adopted() const override { return is_adopted; }
  Task<> destroy_session(SandboxId id) override;
  Task<> pause_session(SandboxId id) override;
  Task<> resume_session(SandboxId id) override;
  Task<node::SessionUsage> measure_session(SandboxId id) override;
  void on_session_ended(std::function<void(const node::SessionEnded&)> call) override {
    ended = std::move(call);
  }
  void on_adopted(std::function<void()> call) override { adoption = std::move(call); }

  std::map<SandboxId, std::shared_ptr<node::Session>> alive;
  std::vector<SandboxId> paused;  // as it was asked for
  std::vector<SandboxId> resumed;
  std::vector<SandboxId> destroyed;
  node::SessionUsage usage;  // of any
  bool is_adopted = true;
  std::function<void(const node::SessionEnded&)> ended;
  std::function<void()> adoption;
};

// Networks as the test has them, and what was asked of them.
class FakeNetworkService final : public node::NetworkService {
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

// The server's sessions as the test has them; for the routes that only use one.
class FakeSessions final : public sessions::Sessions {
 public:
  struct Known {
    std::string project;
    std::shared_ptr<node::Session> session;
    std::string state = "running";
    std::string token{};
    std::vector<std::string> env{};
  };
  void add(Known known);

  Result<std::shared_ptr<node::Session>> use(const std::string& project,
                                             std::string_view id) override;
  std::vector<std::string> environment(const SandboxId& id) const override;
  void note(const SandboxId& id, std::string_view kind, std::string message,
            std::uint64_t process) override;
  Door door(std::string_view id) override;

  std::map<std::string, Known, std::less<>> known;
  std::vector<std::string> notes;  // "kind: message"
};

// Prints `out`, shows 2, ends well.
FakeNode::Play says(std::string out);
FakeNode::Play refuses(Errc code, std::string message);

class RecordingWriter final : public http::ResponseWriter {
 public:
  asio::awaitable<bool> begin(int status, http::Headers headers) override;
  asio::awaitable<bool> write(std::string bytes) override;
  asio::awaitable<bool> finish() override;
  bool begun() const override { return status != 0; }

  int status = 0;
  http::Headers headers;
  std::string body;
  bool finished = false;
};

// A client that is there until the test says otherwise.
class FakeConnection final : public http::DisconnectSource {
 public:
  void watch(std::function<void()> callback) override { on_gone_ = std::move(callback); }
  bool gone() const override { return gone_; }
  void leave() {
    gone_ = true;
    if (on_gone_) on_gone_();
  }

 private:
  std::function<void()> on_gone_;
  bool gone_ = false;
};

struct Answer {
  int status = 0;
  http::Headers headers;
  std::string body;  // an error in its JSON form, too
  bool streamed = false;
};

// Of an answer in the error form.
std::string code_of(const Answer& answer);

class TestApp {
 public:
  explicit TestApp(routing::AppSettings settings = {}, sessions::KeeperOptions keeping = {});
  ~TestApp();

  // Through admit() and the router, as the server would.
  Answer send(http::Method method, std::string target, std::string key = {}, std::string body = {},
              http::Headers headers = {});
  // The same, begun only; `done` is called with the answer.
  void begin(http::Method method, std::string target, std::string key, std::string body,
             http::Headers headers, std::function<void(Answer)> done);
  // Runs the loop until `ready`, or fails the test after a while.
  void run_until(const std::function<bool()>& ready);
  std::string make_key(std::string project, store::KeyRole role, store::KeyLimits limits = {});

  boost::asio::io_context io;
  std::filesystem::path directory;
  std::unique_ptr<store::SqliteStore> store;
  FakeNode node;
  FakeTemplateService template_service{node};
  FakeSessionService session_service;
  FakeNetworkService networks;
  FakeSessions sessions;
  std::unique_ptr<templates::ProjectTemplates> templates;
  std::unique_ptr<routing::App> app;
  std::unique_ptr<sessions::SessionKeeper> keeper;  // over `session_service`
  http::Router router;
  std::string admin_key;
  std::shared_ptr<FakeConnection> connection = std::make_shared<FakeConnection>();
};

}  // namespace glovebox::api
