#include "dialects/mcp/json_rpc.h"

#include <gtest/gtest.h>

#include "dialects/mcp/truncated_text.h"

namespace glovebox::mcp {
namespace {

int code_of(std::string_view text) {
  const auto parsed = parse_message(text);
  return parsed ? 0 : parsed.error().code;
}

TEST(JsonRpc, TellsRequestsNotificationsAndResponsesApart) {
  EXPECT_EQ(parse_message(R"({"jsonrpc":"2.0","id":1,"method":"ping"})")->kind,
            MessageKind::kRequest);
  EXPECT_EQ(parse_message(R"({"jsonrpc":"2.0","method":"x","params":{"a":1}})")->kind,
            MessageKind::kNotification);
  EXPECT_EQ(parse_message(R"({"jsonrpc":"2.0","id":"a","result":{}})")->kind,
            MessageKind::kResponse);
}

TEST(JsonRpc, MalformedMessagesAreRefusedWithTheRightCode) {
  EXPECT_EQ(code_of("{"), kParseError);
  EXPECT_EQ(code_of("{\"a\":\"\xff\"}"), kParseError);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"})"), kParseError);
  EXPECT_EQ(code_of(std::string(100, '[')), kParseError);
  EXPECT_EQ(code_of("[]"), kInvalidRequest);
  EXPECT_EQ(code_of(R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])"), kInvalidRequest);
  EXPECT_EQ(code_of("7"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"id":1,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"1.0","id":1,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":{},"method":"ping"})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":7})"), kInvalidRequest);
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","id":1,"method":"x","params":[1]})"), kInvalidRequest);
  const std::string long_id(300, 'x');
  EXPECT_EQ(code_of(R"({"jsonrpc":"2.0","method":"x","id":")" + long_id + "\"}"), kInvalidRequest);
}

TEST(JsonRpc, ARefusalHasTheRequestsIdIfItWasReadable) {
  EXPECT_EQ(parse_message(R"({"id":"a","method":"ping"})").error().id, "a");
}

TEST(TruncatedText, KeepsTheBeginningAndTheEnd) {
  TruncatedText text(10);
  for (const char* piece : {"abc", "def", "ghi", "jkl", "mno"}) text.add(piece);
  EXPECT_TRUE(text.is_cut());
  EXPECT_EQ(text.text(), "abcde\n[... 5 bytes are left out here ...]\nklmno");
  EXPECT_EQ(truncate_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(truncate_middle(std::string(1000, 'a') + "end", 8),
            "aaaa\n[... 995 bytes are left out here ...]\naend");
}

TEST(TruncatedText, CutsBetweenCharacters) {
  EXPECT_EQ(truncate_middle("xyz\xc3\xa4"
                            "aaaaaaaa\xc3\xa4"
                            "bcd",
                            8),
            "xyz\n[... 10 bytes are left out here ...]\nbcd");
  EXPECT_EQ(truncate_middle("\xff", 8), "\xef\xbf\xbd");
}

TEST(TruncatedText, CanBeCutOnceMore) {
  TruncatedText text(10);
  text.add("abcdefgh");
  bool was_cut = false;
  EXPECT_EQ(text.text(10, &was_cut), "abcdefgh");
  EXPECT_FALSE(was_cut);
  EXPECT_EQ(text.text(4, &was_cut), "ab\n[... 4 bytes are left out here ...]\ngh");
  EXPECT_TRUE(was_cut);
  text.add("ijklmnop");
  EXPECT_EQ(text.text(4), "ab\n[... 12 bytes are left out here ...]\nop");
  EXPECT_EQ(text.text(0), "\n[... 16 bytes are left out here ...]\n");
}

TEST(TruncatedText, BinaryOutputStaysWithinTheLimit) {
  EXPECT_LE(truncate_middle(std::string(3000, '\xff'), 3000).size(), 3100u);
  EXPECT_EQ(truncate_middle(std::string(3000, 'a'), 3000).size(), 3000u);
}

TEST(TextRoom, LeavesRoomForLaterTexts) {
  TextRoom room(10'000);
  EXPECT_EQ(room.share(0), 10'000u);
  EXPECT_EQ(room.share(3000), 6488u);
  EXPECT_EQ(room.share(1'000'000), 5000u);
  room.take(9000);
  EXPECT_EQ(room.share(0), 1000u);
  room.take(9000);
  EXPECT_TRUE(room.is_full());
  EXPECT_EQ(room.share(0), 0u);
}

}  // namespace
}  // namespace glovebox::mcp
