#include "http/websocket/websocket_frames.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace glovebox::http {
namespace {

using Masks = WebSocketReader::Masks;
constexpr std::array<std::uint8_t, 4> kMask = {0x12, 0x34, 0x56, 0x78};
constexpr std::size_t kMax = 100'000;

// What came out, as text: "text:hello", "ping:x", "close:1000 bye", "broken:1002".
std::vector<std::string> read_all(std::string_view bytes, std::size_t piece,
                                  Masks masks = Masks::kMust) {
  WebSocketReader reader(masks, kMax);
  std::vector<std::string> out;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    for (;;) {
      const WebSocketReader::Event event = reader.read(part);
      if (std::holds_alternative<WebSocketReader::NeedMore>(event)) break;
      if (const auto* message = std::get_if<WebSocketMessage>(&event)) {
        out.push_back((message->text ? "text:" : "binary:") + message->data);
      } else if (const auto* ping = std::get_if<WebSocketReader::Ping>(&event)) {
        out.push_back("ping:" + ping->data);
      } else if (const auto* close = std::get_if<WebSocketReader::Close>(&event)) {
        out.push_back("close:" + std::to_string(close->code) + " " + close->reason);
      } else if (const auto* broken = std::get_if<WebSocketReader::Broken>(&event)) {
        out.push_back("broken:" + std::to_string(broken->code));
        return out;
      } else {
        out.push_back("pong");
      }
    }
  }
  return out;
}

std::string masked(std::uint8_t first, std::string_view payload) {
  std::string frame = masked_frame(Opcode::kText, payload, kMask);
  frame[0] = static_cast<char>(first);
  return frame;
}

TEST(WebSocketFrames, MessagesComeOutHoweverTheyArrive) {
  const std::string large(70'000, 'x'), medium(300, 'y');
  const std::string bytes = masked(0x81, "hello") + masked(0x82, medium) + masked(0x01, "fr") +
                            masked(0x89, "are you there") + masked(0x00, "ag") +
                            masked(0x80, "ment") + masked(0x8A, "") + masked(0x81, "") +
                            masked(0x82, large) +
                            masked(0x88,
                                   "\x03\xE8"
                                   "bye");
  const std::vector<std::string> expected = {
      "text:hello", "binary:" + medium, "ping:are you there", "text:fragment", "pong",
      "text:",      "binary:" + large,  "close:1000 bye"};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, bytes.size()}) {
    EXPECT_EQ(read_all(bytes, piece), expected) << piece;
  }
}

TEST(WebSocketFrames, AServersOwnAreNotMasked) {
  const std::string payload(70'000, 'z');
  const std::string bytes =
      frame_head(Opcode::kBinary, payload.size()) + payload + frame_head(Opcode::kText, 2) + "ok";
  EXPECT_EQ(read_all(bytes, 1000, Masks::kMustNot),
            (std::vector<std::string>{"binary:" + payload, "text:ok"}));
  EXPECT_EQ(read_all(masked(0x81, "x"), 100, Masks::kMustNot),
            std::vector<std::string>{"broken:1002"});
}

struct Wrong {
  std::string bytes;
  std::string verdict;
};
class WrongFrames : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongFrames, CloseTheConnection) {
  for (const std::size_t piece : {std::size_t{1}, GetParam().bytes.size()}) {
    EXPECT_EQ(read_all(GetParam().bytes, piece), std::vector<std::string>{GetParam().verdict});
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongFrames,
    ::testing::Values(
        Wrong{frame_head(Opcode::kText, 1) + "x", "broken:1002"},           // not masked
        Wrong{masked(0xC1, "x"), "broken:1002"},                            // an extension's bit
        Wrong{masked(0x83, "x"), "broken:1002"},                            // no such opcode
        Wrong{masked(0x8B, "x"), "broken:1002"},                            // nor such a control
        Wrong{masked(0x09, "x"), "broken:1002"},                            // half a ping
        Wrong{masked(0x89, std::string(126, 'x')), "broken:1002"},          // a long ping
        Wrong{masked(0x80, "x"), "broken:1002"},                            // an end of nothing
        Wrong{masked(0x01, "x") + masked(0x81, "y"), "broken:1002"},        // two beginnings
        Wrong{std::string("\x81\xFE\x00\x05", 4) + "mask", "broken:1002"},  // 5 in 16 bits
        Wrong{std::string("\x81\xFF\x00\x00\x00\x00\x00\x00\x00\x05", 10) + "mask", "broken:1002"},
        Wrong{std::string("\x81\xFF\x80\x00\x00\x00\x00\x00\x00\x00", 10) + "mask", "broken:1002"},
        Wrong{std::string("\x81\xFF\x00\x00\x00\x00\x7F\xFF\xFF\xFF", 10) + "mask", "broken:1009"},
        Wrong{masked(0x01, std::string(60'000, 'x')) + masked(0x80, std::string(60'000, 'x')),
              "broken:1009"},
        Wrong{masked(0x81, "\xC0\xAF"), "broken:1007"},
        Wrong{masked(0x81, "\xED\xA0\x80"), "broken:1007"},
        Wrong{masked(0x81, "cut \xE2\x82"), "broken:1007"},
        Wrong{masked(0x88, "\x03"), "broken:1002"},          // half a code
        Wrong{masked(0x88, "\x03\xED"), "broken:1002"},      // 1005 is never sent
        Wrong{masked(0x88, "\x03\xE8\xFF"), "broken:1007"},  // a reason in no language
        Wrong{masked(0x88, std::string("\x00\x00", 2)), "broken:1002"}));

TEST(WebSocketFrames, OnlyCodesThatMayBeSentCloseAConnectionWell) {
  const auto closed_with = [](int code) {
    const std::string payload = {static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
    return read_all(masked(0x88, payload), 100).front();
  };
  for (const int code : {1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 3001, 4998, 4999}) {
    EXPECT_EQ(closed_with(code), "close:" + std::to_string(code) + " ") << code;
  }
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535}) {
    EXPECT_EQ(closed_with(code), "broken:1002") << code;
  }
}

TEST(WebSocketFrames, LengthsAreSaidInTheirShortestForm) {
  for (const std::size_t size : {0, 1, 125, 126, 127, 65535, 65536, 65537}) {
    const std::string payload(size, 'x');
    const std::size_t in_head = size <= 125 ? 0 : size <= 65535 ? 2 : 8;
    EXPECT_EQ(frame_head(Opcode::kBinary, size).size(), 2 + in_head) << size;
    EXPECT_EQ(read_all(masked(0x82, payload), 1000), std::vector<std::string>{"binary:" + payload})
        << size;
  }
  EXPECT_EQ(read_all(masked(0x89, std::string(125, 'x')), 100),
            std::vector<std::string>{"ping:" + std::string(125, 'x')});
}

TEST(WebSocketFrames, AMessageMayBeAsLongAsTheLimit) {
  const std::string most(kMax, 'x');
  EXPECT_EQ(read_all(masked(0x82, most), 10'000), std::vector<std::string>{"binary:" + most});
  EXPECT_EQ(read_all(masked(0x82, most + "x"), 10'000), std::vector<std::string>{"broken:1009"});
  EXPECT_EQ(read_all(masked(0x02, most.substr(1)) + masked(0x80, "x"), 10'000),
            std::vector<std::string>{"binary:" + most});
  EXPECT_EQ(read_all(masked(0x02, most.substr(1)) + masked(0x80, "xx"), 10'000),
            std::vector<std::string>{"broken:1009"});
}

TEST(WebSocketFrames, AReasonIsCutAtACharacter) {
  std::string reason;
  for (int i = 0; i < 100; ++i) reason += "\xE2\x82\xAC";
  const std::string payload = close_payload(1001, reason);
  EXPECT_LE(payload.size(), 125u);
  EXPECT_GT(payload.size(), 120u);
  EXPECT_TRUE(is_utf8(std::string_view(payload).substr(2)));
  EXPECT_EQ(close_payload(close_code::kBroken, "x"), "");
}

TEST(WebSocketFrames, TheKeyIsAnsweredAsTheStandardSays) {
  EXPECT_EQ(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketFrames, WordsAreFoundCaseAside) {
  EXPECT_TRUE(header_list_contains("keep-alive, Upgrade", "upgrade"));
  EXPECT_TRUE(header_list_contains("UPGRADE", "upgrade"));
  EXPECT_FALSE(header_list_contains("upgraded, notupgrade", "upgrade"));
  EXPECT_FALSE(header_list_contains("", "upgrade"));
}

}  // namespace
}  // namespace glovebox::http
