#include "store/run_record.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace glovebox::store {
namespace {

TEST(RunStatus, NamesParseBack) {
  for (int i = 1; i <= 7; ++i) {
    const auto status = static_cast<RunStatus>(i);
    EXPECT_EQ(parse_run_status(run_status_name(status)), status);
  }
  EXPECT_FALSE(parse_run_status("great"));
}

TEST(RunCursor, ComesBackAsItWas) {
  for (const std::int64_t seq : {std::int64_t{0}, std::int64_t{255}, INT64_MAX}) {
    const RunCursor cursor{.seq = seq, .run = RunId::make().str()};
    const Result<RunCursor> back = parse_cursor(encode_cursor(cursor));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->seq, cursor.seq);
    EXPECT_EQ(back->run, cursor.run);
  }
}

TEST(RunCursor, RefusesWhatWasNotMadeByUs) {
  const std::string good = encode_cursor({.seq = 42, .run = RunId::make().str()});
  EXPECT_FALSE(parse_cursor(""));
  EXPECT_FALSE(parse_cursor("1"));
  EXPECT_FALSE(parse_cursor(good + "A"));
  EXPECT_FALSE(parse_cursor(good.substr(1)));
  EXPECT_FALSE(parse_cursor(std::string(good.size(), 'A')));
  EXPECT_FALSE(parse_cursor(std::string(good.size(), '_')));
  EXPECT_FALSE(parse_cursor(std::string(good.size(), '\xff')));
  std::string padded = good;
  padded.back() = '=';
  EXPECT_FALSE(parse_cursor(padded));
  EXPECT_FALSE(parse_cursor(encode_cursor({.seq = -1, .run = RunId::make().str()})));
  EXPECT_FALSE(parse_cursor(encode_cursor({.seq = 1, .run = std::string(22, '.')})));
}

TEST(CutText, KeepsCharactersWhole) {
  std::string text = "ab\xc3\xa9";  // é is two bytes
  EXPECT_FALSE(cut_text(text, 4));
  EXPECT_TRUE(cut_text(text, 3));
  EXPECT_EQ(text, "ab");
  std::string plain = "abcdef";
  EXPECT_TRUE(cut_text(plain, 2));
  EXPECT_EQ(plain, "ab");
  std::string binary(10, '\x80');  // no characters at all
  EXPECT_TRUE(cut_text(binary, 5));
  EXPECT_EQ(binary.size(), 5u);
  for (const std::size_t limit : {0u, 1u, 2u}) {
    std::string bytes = "\x80\x80\x80";
    EXPECT_TRUE(cut_text(bytes, limit));
    EXPECT_LE(bytes.size(), limit);
  }
  std::string long_one = "a\xf0\x9f\xa7\xa4";  // four bytes
  EXPECT_FALSE(cut_text(long_one, 5));
  EXPECT_TRUE(cut_text(long_one, 4));
  EXPECT_EQ(long_one, "a");
  // Of more than three bytes that go on, none begins a character: they are cut plainly.
  std::string broken = "a\x80\x80\x80\x80\x80";
  EXPECT_TRUE(cut_text(broken, 4));
  EXPECT_EQ(broken.size(), 4u);
  std::string nothing = "abc";
  EXPECT_TRUE(cut_text(nothing, 0));
  EXPECT_TRUE(nothing.empty());
}

TEST(RunRecord, NothingOfItIsCutOrWarmUnlessItSaysSo) {
  const RunRecord run;
  EXPECT_FALSE(run.warm || run.out_cut || run.err_cut || run.answer_cut || run.code_cut);
}

}  // namespace
}  // namespace glovebox::store
