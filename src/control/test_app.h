// An App for tests: the real routes and the real store, and a host that runs nothing but what the
// test says.
#pragma once

#include <boost/asio/io_context.hpp>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/app.h"
#include "control/routes.h"
#include "store/sqlite_store.h"

namespace glovebox::control {

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
  explicit TestApp(AppSettings settings = {});
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
  std::unique_ptr<App> app;
  http::Router router;
  std::string admin_key;
  std::shared_ptr<FakeConnection> connection = std::make_shared<FakeConnection>();
};

}  // namespace glovebox::control
