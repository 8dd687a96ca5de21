// For tests: a paused sandbox that requests to its ports may resume, over the real sessions.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/testing/test_server.h"
#include "routing/sandbox_access.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::routing {

enum class PortVisibility : bool { kPublic, kPrivate };

class PausedSandbox {
 public:
  explicit PausedSandbox(PortVisibility visibility) {
    server.session_service.make = [this](const node::SessionSpec& spec) {
      auto session = std::make_shared<sessions::FakeIdleSession>(server.io, spec.template_name);
      return Result<std::shared_ptr<node::Session>>(session);
    };
    key = server.make_key("default", store::KeyRole::kUser);
    const bool is_private = visibility == PortVisibility::kPrivate;
    const api::Answer made = server.send(
        http::Method::kPost, "/v2/sandboxes", key,
        std::string(R"({"autoPause":true,"autoResume":{"enabled":true},)") +
            R"("network":{"allowPublicTraffic":)" + (is_private ? "false}}" : "true}}"));
    EXPECT_EQ(made.status, 201) << made.body;
    const boost::json::value body = boost::json::parse(made.body);
    id = std::string(body.at("sandboxID").as_string());
    if (is_private) port_token = std::string(body.at("trafficAccessToken").as_string());
    EXPECT_EQ(server.send(http::Method::kPost, "/sandboxes/" + id + "/pause", key, "{}").status,
              204);
  }

  // Runs the server until `task` has its result.
  template <class T>
  T wait_for(asio::awaitable<T> task) {
    std::optional<T> result;
    asio::co_spawn(server.io, std::move(task), [&](std::exception_ptr thrown, T value) {
      EXPECT_EQ(thrown, nullptr);
      result.emplace(std::move(value));
    });
    server.run_until([&] { return result.has_value(); });
    return std::move(*result);
  }
  std::size_t times_resumed() const { return server.session_service.resumed.size(); }

  api::TestServer server;
  std::string key;
  std::string id;
  std::string port_token;  // empty: its ports are public
  SandboxAccess access{server.session_services->registry, server.session_services->lifecycle};
};

}  // namespace glovebox::routing
