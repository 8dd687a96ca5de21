#include "client/mcp/rpc_messages.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(RpcMessages, ARequestHasAnIdAndAMethod) {
  const auto request = read_rpc(R"({"jsonrpc":"2.0","id":7,"method":"ping"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id, 7);
  EXPECT_EQ(request->method, "ping");
  EXPECT_FALSE(request->is_response);
}

TEST(RpcMessages, ANotificationHasNoId) {
  EXPECT_TRUE(read_rpc(R"({"method":"x"})")->id.is_null());
  EXPECT_TRUE(read_rpc(R"({"method":"x","id":1.5})")->id.is_null());
  EXPECT_TRUE(read_rpc(R"({"method":"x","id":null})")->id.is_null());
  EXPECT_FALSE(read_rpc("[1]"));
  EXPECT_FALSE(read_rpc("{"));
}

TEST(RpcMessages, ACancellationNamesItsCall) {
  const auto message = read_rpc(
      R"({"method":"notifications/cancelled","params":{"requestId":"a\"b","reason":"no"}})");
  EXPECT_EQ(message->cancels, R"("a\"b")");
  EXPECT_EQ(read_rpc(R"({"method":"notifications/cancelled","params":[]})")->cancels, "");
}

TEST(RpcMessages, AResponseHasAResultOrAnError) {
  EXPECT_TRUE(read_rpc(R"({"id":1,"result":{}})")->is_response);
  EXPECT_TRUE(read_rpc(R"({"id":1,"error":{"code":1}})")->is_response);
}

TEST(RpcMessages, AnErrorReplyHasTheServersCode) {
  const RpcErrorReply theirs =
      read_error_reply(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}})");
  EXPECT_EQ(theirs.code, -32600);
  EXPECT_EQ(theirs.message, "no");
  const RpcErrorReply ours = read_error_reply(R"({"error":{"code":"forbidden","message":"no"}})");
  EXPECT_EQ(ours.code, 0);
  EXPECT_EQ(ours.message, "no");
  EXPECT_EQ(read_error_reply(R"({"error":{"code":7}})").code, 0);
  EXPECT_EQ(read_error_reply("<html>").message, "");
}

TEST(RpcMessages, TellsJsonFromOtherText) {
  EXPECT_TRUE(is_json("[1]"));
  EXPECT_TRUE(is_json("null"));
  EXPECT_FALSE(is_json("{"));
  EXPECT_FALSE(is_json(""));
}

TEST(RpcMessages, InitializeSaysWhatTheSandboxShouldHave) {
  EXPECT_EQ(initialize_with_sandbox(R"({"id":1,"params":{"_meta":{"b":2}}})", {{"net", "all"}}),
            R"({"id":1,"params":{"_meta":{"b":2,"glovebox/sandbox":{"net":"all"}}}})");
}

TEST(RpcMessages, InitializeAfterLossOnlyAddsItsMark) {
  EXPECT_EQ(initialize_after_loss(R"({"id":1,"params":{"a":1,"_meta":{"b":2}}})"),
            R"({"id":1,"params":{"a":1,"_meta":{"b":2,"glovebox/resumes":true}}})");
  EXPECT_EQ(initialize_after_loss(R"({"id":1})"),
            R"({"id":1,"params":{"_meta":{"glovebox/resumes":true}}})");
}

TEST(RpcMessages, AnErrorIsOneLine) {
  EXPECT_EQ(rpc_error("a", -32000, "x\ny"),
            R"({"jsonrpc":"2.0","id":"a","error":{"code":-32000,"message":"x\ny"}})");
}

TEST(RpcMessages, RemovesLineBreaks) {
  EXPECT_EQ(on_one_line("{\n  \"a\": 1\n}\n"), R"({"a":1})");
  EXPECT_EQ(on_one_line("{\"a\": 1}\r\n"), R"({"a": 1})");
  EXPECT_EQ(on_one_line("oops"), std::nullopt);
}

TEST(InputLines, AreSplitHoweverTheyArrive) {
  InputLines lines(10);
  EXPECT_TRUE(lines.add("ab").empty());
  EXPECT_EQ(lines.add("c\r\n\nde\n"), (std::vector<std::optional<std::string>>{"abc", "de"}));
}

TEST(InputLines, ALineThatIsTooLongIsReported) {
  InputLines lines(4);
  EXPECT_TRUE(lines.add("12345").empty());
  EXPECT_EQ(lines.add("678\nok\n"), (std::vector<std::optional<std::string>>{std::nullopt, "ok"}));
}

TEST(EventReader, JoinsTheDataOfAnEventAndSkipsTheRest) {
  EventReader reader(100);
  std::vector<std::string> events;
  EXPECT_TRUE(reader.add(":ping\n\nevent: message\nid: 1\ndata: {\"a\"", events));
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(reader.add(":1}\r\n\r\ndata: x\ndata:y\n\n", events));
  EXPECT_EQ(events, (std::vector<std::string>{"{\"a\":1}", "x\ny"}));
}

TEST(EventReader, RefusesAnEventWithoutEnd) {
  EventReader reader(8);
  std::vector<std::string> events;
  EXPECT_FALSE(reader.add("data: 123456789", events));
}

}  // namespace
}  // namespace glovebox::client
