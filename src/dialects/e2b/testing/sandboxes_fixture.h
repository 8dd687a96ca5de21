// A server with E2B's control plane over a fake node, and calls to it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_idle_session.h"

namespace glovebox::e2b {

namespace json = boost::json;
using http::Method;

inline sessions::SessionOptions quick() {
  sessions::SessionOptions options;
  options.tick = std::chrono::milliseconds(5);
  options.reconcile_every = std::chrono::milliseconds(20);
  options.max_paused = 2;
  options.max_ttl_s = 1000;
  options.available_memory = [] { return std::optional<std::uint64_t>(1ull << 40); };
  return options;
}

class E2bSandboxes : public ::testing::Test {
 protected:
  explicit E2bSandboxes(api::ApiSettings settings = {}) : test_(std::move(settings), quick()) {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      specs_.push_back(spec);
      auto session = std::make_shared<sessions::FakeIdleSession>(test_.io, spec.template_name);
      session->plan = plan_;
      session_ = session;
      return Result<std::shared_ptr<node::Session>>(session);
    };
  }

  api::Answer call(Method method, const std::string& target, const std::string& body = {},
                   std::string key = {}, http::Headers headers = {}) {
    return test_.send(method, target, key.empty() ? key_ : key, body, std::move(headers));
  }
  json::value value(const api::Answer& answer, int status) {
    EXPECT_EQ(answer.status, status) << answer.body;
    return answer.body.empty() ? json::value() : json::parse(answer.body);
  }
  std::string make(const std::string& body = "{}") {
    return std::string(
        value(call(Method::kPost, "/v2/sandboxes", body), 201).at("sandboxID").as_string());
  }
  std::string text(const std::string& id, const char* field) {
    return std::string(value(call(Method::kGet, "/sandboxes/" + id), 200).at(field).as_string());
  }
  std::vector<std::string> listed(const std::string& query = {}, std::string key = {}) {
    std::vector<std::string> ids;
    const json::value page =
        value(call(Method::kGet, "/v2/sandboxes" + query, {}, std::move(key)), 200);
    for (const json::value& one : page.as_array()) {
      ids.emplace_back(one.at("sandboxID").as_string());
    }
    return ids;
  }
  // Numeric code, the same as the status: what JS looks at.
  void expect_refusal(const api::Answer& answer, int status, const std::string& message = {}) {
    EXPECT_EQ(answer.status, status) << answer.body;
    const json::value body = json::parse(answer.body);
    EXPECT_EQ(body.at("code").to_number<int>(), status);
    EXPECT_THAT(std::string(body.at("message").as_string()), ::testing::HasSubstr(message));
  }

  api::TestServer test_;
  std::string key_;
  std::shared_ptr<sessions::FakeIdleSession> session_;  // the last one
  std::vector<node::SessionSpec> specs_;
  std::shared_ptr<sessions::FakeIdleTransfer::Plan> plan_ =
      std::make_shared<sessions::FakeIdleTransfer::Plan>();
};

}  // namespace glovebox::e2b
