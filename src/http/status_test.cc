#include "http/status.h"

#include <gtest/gtest.h>

#include <set>

namespace glovebox::http {
namespace {

TEST(Status, EveryErrorHasAStatusAndItsOwnCode) {
  std::set<std::string_view> codes;
  for (int i = 1; i <= static_cast<int>(Errc::kInternal); ++i) {
    const ErrorStatus known = status_of(static_cast<Errc>(i));
    EXPECT_GE(known.status, 400);
    EXPECT_LT(known.status, 600);
    EXPECT_NE(reason_phrase(known.status), "Status");
    EXPECT_TRUE(codes.insert(known.code).second) << known.code;
  }
}

TEST(Status, ErrorBodyIsJsonWhateverTheMessageHolds) {
  EXPECT_EQ(error_body("a", "say \"hi\"\\\n\x01", "rq1"),
            R"({"error":{"code":"a","message":"say \"hi\"\\\n\u0001"},"request_id":"rq1"})");
  EXPECT_EQ(error_body("a", "caf\xC3\xA9 \xFF \xC3", "r"),
            "{\"error\":{\"code\":\"a\",\"message\":\"caf\xC3\xA9 ? ?\"},\"request_id\":\"r\"}");
}

}  // namespace
}  // namespace glovebox::http
