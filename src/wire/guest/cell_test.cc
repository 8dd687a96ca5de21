#include "wire/guest/cell.h"

#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

std::string_view body_of(std::string_view record) { return record.substr(4); }

TEST(Cell, ComesBackAsItWasSent) {
  const Cell plain{.number = 7, .name = "cell-1", .code = "print(1)", .stdin_text = {}};
  const Cell asked{.number = UINT64_MAX, .name = "", .code = "", .stdin_text = "a\nb"};
  const Cell nothing_to_read{.number = 1, .name = "x", .code = "input()", .stdin_text = ""};
  const Cell rich{.number = 2,
                  .name = "x",
                  .code = "y",
                  .stdin_text = "z",
                  .env = {"A=1", "B=", "C"},
                  .rich = true};
  for (const Cell& cell : {plain, asked, nothing_to_read, rich}) {
    const auto back = decode_cell(body_of(encode_cell(cell)));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, cell);
  }
}

TEST(Cell, HasItsLengthInFrontAsTheRuntimesReadIt) {
  const std::string bytes =
      encode_cell(Cell{.number = 1, .name = "n", .code = "c", .stdin_text = {}});
  // number, flags, and three texts with a length each.
  ASSERT_EQ(bytes.size(), 4u + 8 + 1 + (4 + 1) + 4 + (4 + 1));
  EXPECT_EQ(bytes[0], static_cast<char>(bytes.size() - 4));
  EXPECT_EQ(bytes.substr(1, 3), std::string(3, '\0'));
  EXPECT_EQ(with_length("ab"), std::string("\x02\0\0\0ab", 6));
}

TEST(Cell, RefusesWhatIsCutLongerOrLiesAboutItsLengths) {
  const std::string bytes =
      encode_cell(Cell{.number = 1, .name = "n", .code = "code", .stdin_text = {}});
  const std::string_view body = body_of(bytes);
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(decode_cell(body.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_cell(std::string(body) + "x"));
  std::string lie(body);
  lie[9] = lie[10] = lie[11] = lie[12] = '\xff';
  EXPECT_FALSE(decode_cell(lie));
  std::string flags(body);
  for (const char bit : {2, 8, 16}) {
    flags[8] = bit;
    EXPECT_FALSE(decode_cell(flags)) << static_cast<int>(bit);
  }
  flags[8] = 2;
  EXPECT_FALSE(decode_cell(flags + std::string(4, '\0'))) << "an environment of nothing";
  EXPECT_FALSE(decode_cell(flags + std::string("\x02\0\0\0\x01\0\0\0A", 9)));
}

TEST(Cell, IsNotRichUnlessItSaysSo) { EXPECT_FALSE(Cell{}.rich); }

TEST(ContextEvent, HasBoundsThatAreTaken) {
  const ContextEvent first = parse_context_event(R"({"type":"end","cell":0,"exit_code":255})");
  ASSERT_TRUE(std::holds_alternative<CellEnd>(first));
  EXPECT_EQ(std::get<CellEnd>(first).number, 0u);
  EXPECT_EQ(std::get<CellEnd>(first).exit_code, 255);
  const auto padded = [](std::size_t size) {
    const std::string ready = R"({"type":"ready"})";
    return ready + std::string(size - ready.size(), ' ');
  };
  EXPECT_TRUE(std::holds_alternative<ContextReady>(parse_context_event(padded(200))));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(parse_context_event(padded(201))));
}

TEST(ContextEvent, KnowsTheThreeWordsAndNothingElse) {
  EXPECT_TRUE(std::holds_alternative<ContextReady>(parse_context_event(R"({"type":"ready"})")));
  const ContextEvent end = parse_context_event(R"({"type": "end", "cell": 12, "exit_code": 3})");
  ASSERT_TRUE(std::holds_alternative<CellEnd>(end));
  EXPECT_EQ(std::get<CellEnd>(end).number, 12u);
  EXPECT_EQ(std::get<CellEnd>(end).exit_code, 3);
  const ContextEvent exit = parse_context_event(R"({"type":"exit","code":4})");
  ASSERT_TRUE(std::holds_alternative<ContextExit>(exit));
  EXPECT_EQ(std::get<ContextExit>(exit).exit_code, 4);
  for (const char* other :
       {"", "ready", R"({"type":"end"})", R"({"type":"end","cell":-1,"exit_code":0})",
        R"({"type":"end","cell":1,"exit_code":256})", R"({"type":"end","cell":1,"exit_code":-1})",
        R"({"type":"end","cell":1})", R"({"type":"end","exit_code":1})", "{\"type\"", R"(["type"])",
        R"({"type":"end","cell":"1","exit_code":0})",
        R"({"type":"result","mime":{"text/plain":"1"}})", R"({"type":1})", R"({"type":"exit"})",
        R"({"type":"ready")"}) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(parse_context_event(other))) << other;
  }
}

}  // namespace
}  // namespace glovebox::wire
