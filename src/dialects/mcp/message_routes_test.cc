// /mcp through the whole API, with the real session services and the real store, over fake
// sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kBoth = "application/json, text/event-stream";

class McpRoutes : public ::testing::Test {
 protected:
  void SetUp() override {
    key_ = test_.make_key("default", store::KeyRole::kUser);
    test_.session_service.make = [this](const node::SessionSpec& spec) {
      specs_.push_back(spec);
      auto session = std::make_shared<sessions::FakeSession>(test_.io);
      session->on_cell = [](sessions::FakeProcess& process, const wire::Cell& cell) {
        process.print("said " + cell.code);
        process.end_cell(cell.number);
      };
      test_.sessions.add({.project = spec.project, .session = session});
      last_ = session;
      return Result<std::shared_ptr<node::Session>>(session);
    };
  }
  static api::ApiSettings small() {
    api::ApiSettings settings;
    settings.mcp.conversations = 2;
    settings.mcp.memory_bytes = 99u << 20;
    return settings;
  }
  static sessions::SessionOptions roomy() {
    sessions::SessionOptions options;
    options.available_memory = [] { return std::optional<std::uint64_t>(1ull << 40); };
    return options;
  }

  http::Headers headers(const std::string& session, const char* accept = kBoth) {
    http::Headers made{{"Content-Type", "application/json"}, {"Accept", accept}};
    if (!session.empty()) made.add("Mcp-Session-Id", session);
    return made;
  }
  api::Answer post(const std::string& session, std::string body, std::string key = {}) {
    return test_.send(Method::kPost, "/mcp", key.empty() ? key_ : key, std::move(body),
                      headers(session));
  }
  std::string begin(std::string key = {}) {
    const api::Answer answer = post(
        "",
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t\u0007st","version":"1"}}})",
        std::move(key));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return std::string(answer.headers.get("Mcp-Session-Id"));
  }
  static std::string call(int id, const std::string& tool, const std::string& arguments) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
           R"(,"method":"tools/call","params":{"name":")" + tool + R"(","arguments":)" + arguments +
           "}}";
  }
  static json::object result(const api::Answer& answer) {
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json::parse(answer.body).at("result").as_object();
  }
  static std::string text(const api::Answer& answer) {
    std::string all;
    const json::object said = result(answer);
    for (const json::value& block : said.at("content").as_array()) {
      all += std::string(block.at("text").as_string()) + "|";
    }
    return all;
  }
  static int error_code(const api::Answer& answer) {
    return static_cast<int>(json::parse(answer.body).at("error").at("code").as_int64());
  }

  api::TestServer test_{small(), roomy()};
  std::string key_;
  std::vector<node::SessionSpec> specs_;
  std::shared_ptr<sessions::FakeSession> last_;
};

TEST_F(McpRoutes, AConversationHasOneSandboxFromItsFirstToolCall) {
  const std::string session = begin();
  EXPECT_EQ(session.size(), 34u);
  EXPECT_EQ(post(session, R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})").status, 200);
  EXPECT_TRUE(specs_.empty());
  EXPECT_EQ(text(post(session, call(1, "run_code", R"({"code":"a"})"))), "said a|");
  EXPECT_EQ(text(post(session, call(2, "run_code", R"({"code":"b"})"))), "said b|");
  ASSERT_EQ(specs_.size(), 1u);
  EXPECT_EQ(specs_[0].template_name, "python");
  EXPECT_EQ(specs_[0].limits.memory_bytes, 99u << 20);
  const api::Answer gone = test_.send(Method::kDelete, "/mcp", key_, {}, headers(session));
  EXPECT_EQ(gone.status, 204);
  EXPECT_EQ(test_.session_service.destroyed.size(), 1u);
  EXPECT_EQ(post(session, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").status, 404);
}

TEST_F(McpRoutes, AConversationBelongsToOneProject) {
  const std::string session = begin();
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(post(session, R"({"jsonrpc":"2.0","id":1,"method":"ping"})", other).status, 404);
  EXPECT_EQ(test_.send(Method::kDelete, "/mcp", other, {}, headers(session)).status, 404);
  EXPECT_EQ(post(session, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").status, 200);
  EXPECT_EQ(test_.send(Method::kPost, "/mcp", "", "{}", headers(session)).status, 401);
}

TEST_F(McpRoutes, ASandboxThatHasEndedIsReplacedAndTheResultSaysSo) {
  const std::string session = begin();
  EXPECT_THAT(text(post(session, call(1, "run_code", R"({"code":"a"})"))), Not(HasSubstr("Note")));
  const std::string id = last_->id().str();
  EXPECT_EQ(test_.send(Method::kDelete, "/v1/sandboxes/" + id, key_).status, 204);
  test_.sessions.known.erase(id);
  const std::string again = text(post(session, call(2, "run_code", R"({"code":"b"})")));
  EXPECT_THAT(again, HasSubstr("has ended (deleted). This is a fresh one"));
  EXPECT_THAT(again, HasSubstr("said b"));
  EXPECT_EQ(text(post(session, call(3, "run_code", R"({"code":"c"})"))), "said c|");
}

TEST_F(McpRoutes, ALostConversationIsReportedOnceInTheNextOne) {
  const api::Answer begun = post(
      "",
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","_meta":{"glovebox/resumes":true}}})");
  const std::string session(begun.headers.get("Mcp-Session-Id"));
  const std::string first = text(post(session, call(1, "run_code", R"({"code":"a"})")));
  EXPECT_THAT(first, HasSubstr("This is a fresh one"));
  EXPECT_EQ(text(post(session, call(2, "run_code", R"({"code":"b"})"))), "said b|");
}

TEST_F(McpRoutes, TheClientSaysWhichPackagesAndNetworkItsSandboxHas) {
  const auto begin_with = [&](const std::string& sandbox) {
    return post(
        "",
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","_meta":{"glovebox/sandbox":)" +
            sandbox + "}}}");
  };
  const api::Answer begun = begin_with(R"({"net":{"allow":["pypi.org:443"]}})");
  EXPECT_THAT(std::string(result(begun).at("instructions").as_string()), HasSubstr("pypi.org"));
  const std::string session(begun.headers.get("Mcp-Session-Id"));
  EXPECT_EQ(text(post(session, call(1, "run_code", R"({"code":"a"})"))), "said a|");
  ASSERT_EQ(specs_.size(), 1u);
  ASSERT_EQ(specs_[0].net.allow.size(), 1u);
  // As after a restart of the server: the next sandbox of the conversation has the same.
  test_.api->mcp.conversations().forget_all();
  EXPECT_EQ(result(post(session, call(2, "reset_sandbox", "{}"))).at("isError"), false);
  EXPECT_EQ(text(post(session, call(3, "run_code", R"({"code":"b"})"))), "said b|");
  ASSERT_EQ(specs_.size(), 2u);
  EXPECT_EQ(specs_[1].net, specs_[0].net);
  for (const char* wrong : {"1", R"({"net":"some"})", R"({"dependencies":["-r x"]})",
                            R"({"template":"base"})", R"({"memory_mb":8})", R"({"image":""})"}) {
    const api::Answer refused = begin_with(wrong);
    EXPECT_EQ(error_code(refused), -32602) << wrong;
    EXPECT_THAT(refused.body, HasSubstr("_meta.glovebox/sandbox")) << wrong;
  }
}

TEST_F(McpRoutes, OtherRoutesCannotCreateAConversationsSandbox) {
  const std::string id = "mc" + std::string(32, 'z');
  const api::Answer made = test_.send(Method::kPost, "/v1/sandboxes", key_,
                                      R"({"template":"python","agent_id":"mcp:)" + id + "\"}");
  EXPECT_EQ(made.status, 400) << made.body;
  EXPECT_EQ(post(id, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").status, 404);
}

TEST_F(McpRoutes, AToolFailureIsAResultAndAClientMistakeIsAnError) {
  const std::string session = begin();
  const json::object refused =
      result(post(session, call(1, "run_code", R"({"code":"a","timeout_s":1e9})")));
  EXPECT_EQ(refused.at("isError"), true);
  EXPECT_EQ(result(post(session, call(1, "run_code", R"({"code":"a","x":1})"))).at("isError"),
            true);
  EXPECT_EQ(error_code(post(session, call(1, "nope", "{}"))), -32602);
  EXPECT_EQ(error_code(post(session, call(1, "run_code", "[]"))), -32602);
  EXPECT_EQ(error_code(post(session, R"({"jsonrpc":"2.0","id":1,"method":"nope"})")), -32601);
  EXPECT_EQ(error_code(post(session, "[]")), -32600);
  EXPECT_EQ(error_code(post(session, "{")), -32700);
  EXPECT_TRUE(specs_.empty());
}

TEST_F(McpRoutes, ACommandHasAStructuredResult) {
  const std::string session = begin();
  post(session, call(1, "run_code", R"({"code":"a"})"));
  last_->on_start = [](sessions::FakeProcess& process) {
    process.print("out");
    process.exit(3);
    return Result<>();
  };
  const json::object ended = result(post(session, call(2, "run_command", R"({"command":"x"})")));
  EXPECT_EQ(ended.at("isError"), true);
  EXPECT_EQ(ended.at("structuredContent").at("exit_code"), 3);
  EXPECT_EQ(ended.at("structuredContent").at("stdout"), "out");
}

TEST_F(McpRoutes, ACancelledCallIsKilledAndHasNoAnswer) {
  const std::string session = begin();
  post(session, call(1, "run_code", R"({"code":"a"})"));
  int signal = 0;
  last_->on_start = [&signal](sessions::FakeProcess& process) {
    process.on_signal = [&signal, &process](int number) {
      signal = number;
      process.exit(0, static_cast<std::uint8_t>(number));
    };
    return Result<>();
  };
  std::optional<api::Answer> answer;
  test_.begin(Method::kPost, "/mcp", key_, call(2, "run_command", R"({"command":"x"})"),
              headers(session), [&](api::Answer given) { answer = std::move(given); });
  test_.run_until([&] { return last_->all.size() == 2; });
  EXPECT_FALSE(answer);
  const std::string cancel =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})";
  EXPECT_EQ(post(session, cancel).status, 202);
  test_.run_until([&] { return answer.has_value(); });
  EXPECT_EQ(signal, 9);
  EXPECT_TRUE(answer->streamed);
  EXPECT_EQ(answer->body, "");
}

TEST_F(McpRoutes, ACancellationMayOvertakeItsCall) {
  const std::string session = begin();
  post(session, R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  const api::Answer answer = post(session, call(5, "run_code", R"({"code":"a"})"));
  EXPECT_TRUE(answer.streamed);
  EXPECT_EQ(answer.body, "");
}

TEST_F(McpRoutes, HeadersAreChecked) {
  const std::string session = begin();
  const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  const auto status = [&](http::Headers with) {
    return test_.send(Method::kPost, "/mcp", key_, ping, std::move(with)).status;
  };
  EXPECT_EQ(status(headers("")), 400);
  EXPECT_EQ(status(headers("mc" + std::string(32, 'a'))), 404);
  EXPECT_EQ(status(headers(session, "text/html")), 406);
  EXPECT_EQ(status(headers(session, "text/event-stream")), 200);
  EXPECT_EQ(status({{"Mcp-Session-Id", session}, {"Content-Type", "text/plain"}}), 415);
  EXPECT_EQ(status({{"Mcp-Session-Id", session}, {"Content-Type", "application/json; a=b"}}), 200);
  http::Headers versioned = headers(session);
  versioned.add("MCP-Protocol-Version", "1999-01-01");
  EXPECT_EQ(status(versioned), 400);
  EXPECT_EQ(test_.send(Method::kGet, "/mcp", key_, {}, headers(session)).status, 405);
  EXPECT_EQ(post(session, R"({"jsonrpc":"2.0","id":1,"method":"initialize"})").status, 400);
}

TEST_F(McpRoutes, AProjectsConversationsAreLimitedAndIdleOnesAreDropped) {
  const std::string first = begin();
  const std::string second = begin();
  post(first, call(1, "run_code", R"({"code":"a"})"));
  const std::string third = begin();  // replaces the second, which has no sandbox
  EXPECT_EQ(post(second, R"({"jsonrpc":"2.0","id":1,"method":"ping"})").status, 404);
  post(third, call(1, "run_code", R"({"code":"a"})"));
  const api::Answer full = post(
      "",
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})");
  EXPECT_EQ(full.status, 429);
  EXPECT_FALSE(begin(test_.make_key("other", store::KeyRole::kUser)).empty());
}

TEST_F(McpRoutes, AConversationSurvivesARestart) {
  const std::string session = begin();
  post(session, call(1, "run_code", R"({"code":"a"})"));
  test_.api->mcp.conversations().forget_all();  // as after a restart
  EXPECT_EQ(text(post(session, call(2, "run_code", R"({"code":"b"})"))), "said b|");
  EXPECT_EQ(specs_.size(), 1u);
  test_.api->mcp.conversations().forget_all();
  const std::string other = test_.make_key("other", store::KeyRole::kUser);
  EXPECT_EQ(post(session, R"({"jsonrpc":"2.0","id":1,"method":"ping"})", other).status, 404);
}

}  // namespace
}  // namespace glovebox::mcp
