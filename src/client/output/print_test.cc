#include "client/output/print.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(ClientPrint, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control";
  EXPECT_EQ(printable("10 \xc2\xa3 \xc2\xb0"), "10 \xc2\xa3 \xc2\xb0") << "its neighbours are text";
  EXPECT_EQ(printable("z\xc3\xbcrich"), "z\xc3\xbcrich");
}

TEST(ClientPrint, KeepsLineBreaksOnly) {
  EXPECT_EQ(printable_lines("one"), "one");
  EXPECT_EQ(printable_lines(""), "");
  EXPECT_EQ(printable_lines("one\nglovebox: two\x1b[2J\n\r\n"),
            "one\n  glovebox: two\\x1b[2J\n  \\x0d");
}

TEST(ClientPrint, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(table({{"NAME", "ROLE"}, {"z\xc3\xbcrich", "user"}, {"a", "admin"}}),
            "NAME    ROLE\nz\xc3\xbcrich  user\na       admin\n");
}

TEST(ClientPrint, NoLineEndsWithSpaces) {
  EXPECT_EQ(table({{"ID", "NAME"}, {"k1", ""}}), "ID  NAME\nk1\n");
}

}  // namespace
}  // namespace glovebox::client
