// A server for tests: the real API and the real store, over a fake node that the test controls.
#pragma once

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "api/server_api.h"
#include "http/message.h"
#include "http/router.h"
#include "node/testing/fake_services.h"
#include "packages/testing/fake_package_service.h"
#include "packages/testing/fake_packages.h"
#include "sessions/testing/fake_sessions.h"
#include "store/sqlite/sqlite_store.h"

namespace glovebox::api {

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

// A client that stays connected until the test disconnects it.
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

class TestServer {
 public:
  explicit TestServer(ApiSettings settings = {}, sessions::SessionOptions options = {},
                      snapshots::SnapshotStoreOptions snapshot_options = {},
                      store::Retention retention = {});
  ~TestServer();

  // Sends a request through the admission and the router, like the server.
  Answer send(http::Method method, std::string target, std::string key = {}, std::string body = {},
              http::Headers headers = {});
  // Only starts the request; `done` is called with the answer.
  void begin(http::Method method, std::string target, std::string key, std::string body,
             http::Headers headers, std::function<void(Answer)> done);
  // Runs the loop until `ready`, or fails the test after a while.
  void run_until(const std::function<bool()>& ready);
  std::string make_key(std::string project, store::KeyRole role, store::KeyLimits limits = {});
  // Another server over the same store and node.
  void restart(sessions::SessionOptions options = {});

  boost::asio::io_context io;
  std::filesystem::path directory;
  std::unique_ptr<store::SqliteStore> store;
  node::FakeNode node;
  node::FakeTemplateService template_service{node};
  node::FakeSessionService session_service;
  node::FakeNetworkService networks;
  sessions::FakeSessions sessions;
  packages::FakePackageService packages;
  packages::FakeLayers layers;  // of images
  store::KeyUsage usage;
  events::EventHub events{io.get_executor()};
  std::unique_ptr<templates::ProjectTemplates> templates;
  std::unique_ptr<snapshots::SnapshotStore> snapshots;
  std::unique_ptr<images::ImageService> images;
  std::unique_ptr<sessions::SessionServices> session_services;  // over `session_service`
  std::unique_ptr<ServerApi> api;
  http::Router router;
  std::string admin_key;
  std::shared_ptr<FakeConnection> connection = std::make_shared<FakeConnection>();

 private:
  void build(sessions::SessionOptions options);

  ApiSettings settings_;
};

}  // namespace glovebox::api
