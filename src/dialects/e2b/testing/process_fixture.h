// For tests of process.Process: calls of its routes, without a connection, to a fake session.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/testing/test_server.h"
#include "base/base64.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/testing/endpoints.h"
#include "node/async/notifier.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::e2b {

// A client that reads what it is sent, or stops reading until it is opened.
class PausableWriter final : public http::ResponseWriter {
 public:
  explicit PausableWriter(asio::io_context& io) : opened(io) {}
  asio::awaitable<bool> begin(int, http::Headers given) override {
    headers = std::move(given);
    is_begun = true;
    co_return true;
  }
  asio::awaitable<bool> write(std::string bytes) override {
    while (!is_open) co_await opened.wait(std::chrono::steady_clock::time_point::max());
    body += bytes;
    co_return true;
  }
  asio::awaitable<bool> finish() override {
    finished = true;
    co_return true;
  }
  bool begun() const override { return is_begun; }

  http::Headers headers;
  std::string body;
  bool is_begun = false;
  bool finished = false;
  bool is_open = true;
  node::Notifier opened;
};

// A call, pending or done.
struct Call {
  explicit Call(asio::io_context& io) : writer(io) {}
  http::Request request;
  PausableWriter writer;
  api::FakeConnection connection;
  std::optional<Result<http::Response>> result;

  bool is_done() const { return result.has_value(); }
  // The events so far: "start", "stdout:text", "keepalive", "end:status", "fin", "error:code".
  std::vector<std::string> events() const {
    namespace json = boost::json;
    std::vector<std::string> all;
    std::string_view rest = writer.body;
    while (rest.size() >= 5) {
      std::size_t size = 0;
      for (int i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(rest[i]);
      const json::value value = json::parse(rest.substr(5, size));
      if (rest[0] == 2) {
        const json::value* error = value.as_object().if_contains("error");
        all.push_back(error == nullptr ? "fin"
                                       : "error:" + std::string(error->at("code").as_string()));
      } else if (value.as_object().contains("event")) {
        const auto& event = *value.at("event").as_object().begin();
        std::string text(event.key());
        if (text == "end") text += ":" + std::string(event.value().at("status").as_string());
        if (text == "data") {
          const auto& data = *event.value().as_object().begin();
          text = std::string(data.key()) + ":" +
                 base64_decode(std::string_view(data.value().as_string())).value();
        }
        all.push_back(std::move(text));
      } else {
        all.push_back(json::serialize(value));
      }
      rest.remove_prefix(5 + size);
    }
    return all;
  }
};

class ProcessTest : public ::testing::Test {
 protected:
  static constexpr const char* kSleep = R"({"process":{"cmd":"sleep"}})";

  void SetUp() override {
    session = std::make_shared<sessions::FakeSession>(test.io);
    test.sessions.add({.project = "default", .session = session, .env = {"HOME=/home/user"}});
  }

  // Does not wait for the response. A stream's message is sent in an envelope.
  Call& begin(const Endpoint& endpoint, std::string message, http::Headers headers = {}) {
    calls.emplace_back(test.io);
    Call& call = calls.back();
    call.request.path_params.add("id", session->id().str());
    call.request.headers = std::move(headers);
    if (call.request.headers.find("X-Access-Token") == nullptr) {
      call.request.headers.add("X-Access-Token",
                               test.api->e2b.tokens().token_of(session->id().str()));
    }
    const bool streams = endpoint == kStart || endpoint == kConnect;
    call.request.headers.add("Content-Type",
                             streams ? "application/connect+json" : "application/json");
    call.request.body = streams ? envelope(message, 0) : message;
    call.request.source = &call.connection;
    call.request.method = endpoint.method;
    call.request.target = endpoint.path;
    const http::Route* route = test.api->e2b.find(call.request, {session->id().str(), port});
    if (route == nullptr) throw std::logic_error("no route for " + endpoint.path);
    asio::co_spawn(test.io, run(*route, call), asio::detached);
    return call;
  }
  // Waits for the response.
  Call& call(const Endpoint& endpoint, std::string message, http::Headers headers = {}) {
    Call& one = begin(endpoint, std::move(message), std::move(headers));
    finish(one);
    return one;
  }
  void finish(const Call& call) {
    test.run_until([&] { return call.is_done(); });
  }
  // A single response: its status and its body.
  std::pair<int, boost::json::object> ask(const Endpoint& endpoint, std::string message) {
    const Call& one = call(endpoint, std::move(message));
    EXPECT_TRUE(one.result->has_value());
    return {(*one.result)->status, boost::json::parse((*one.result)->body).as_object()};
  }
  std::string code_of(const Endpoint& endpoint, std::string message) {
    const auto [status, body] = ask(endpoint, std::move(message));
    if (status == 200) return "ok";
    return std::string(body.at("code").as_string());
  }
  void wait_for(const Call& call, std::size_t events) {
    test.run_until([&] { return call.events().size() >= events || call.is_done(); });
  }
  // Runs everything that is ready to run.
  void settle() {
    for (int i = 0; i < 50; ++i) test.io.poll();
  }
  std::shared_ptr<sessions::FakeProcess> last() { return session->all.rbegin()->second; }
  static std::string select(std::uint32_t pid, const std::string& more = {}) {
    return R"({"process":{"pid":)" + std::to_string(pid) + "}" + more + "}";
  }

  api::TestServer test;
  std::uint16_t port = kEnvdTestPort;
  std::shared_ptr<sessions::FakeSession> session;
  std::list<Call> calls;

 private:
  asio::awaitable<void> run(const http::Route& route, Call& call) {
    call.result = co_await route.handler(call.request, call.writer);
  }
};

}  // namespace glovebox::e2b
