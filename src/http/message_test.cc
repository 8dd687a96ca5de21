#include "http/message.h"

#include <gtest/gtest.h>

#include "http/server/response_head.h"

namespace glovebox::http {
namespace {

TEST(Headers, AreFoundWithoutCaseAndKeepDuplicates) {
  Headers headers{{"Content-Type", "a"}, {"X-Two", "1"}, {"x-two", "2"}};
  EXPECT_EQ(headers.get("content-TYPE"), "a");
  EXPECT_EQ(headers.count("X-TWO"), 2u);
  EXPECT_EQ(headers.find("X-Three"), nullptr);
  headers.set("X-Two", "3");
  EXPECT_EQ(headers.count("x-two"), 1u);
}

TEST(Method, HasOneNameEach) {
  EXPECT_EQ(parse_method("DELETE"), Method::kDelete);
  EXPECT_EQ(parse_method("delete"), Method::kOther);
  EXPECT_EQ(method_name(Method::kPatch), "PATCH");
}

TEST(ResponseHead, CannotBeEndedEarlyByAValue) {
  const Headers headers{{"X-Guest", "a\r\nSet-Cookie: b"}, {"Bad Name", "x"}};
  const std::string head = response_head(200, headers, "rqx", Framing{.content_length = 0});
  EXPECT_EQ(head.find("\r\nSet-Cookie"), std::string::npos);
  EXPECT_EQ(head.find("Bad Name"), std::string::npos);
  EXPECT_NE(head.find("X-Guest: a  Set-Cookie: b\r\n"), std::string::npos);
}

TEST(ResponseHead, KeepsTheHandlersCacheControlAndNotItsLength) {
  const Headers headers{{"cache-control", "max-age=60"}, {"Content-Length", "7"}};
  const std::string head = response_head(200, headers, "rqx", Framing{.content_length = 3});
  EXPECT_EQ(head.find("no-store"), std::string::npos);
  EXPECT_EQ(head.find("Content-Length: 7"), std::string::npos);
  EXPECT_NE(head.find("Content-Length: 3\r\n"), std::string::npos);
}

TEST(Response, HidesWhatBrokeInside) {
  const Response response = Response::from_error(Error(Errc::kInternal, "open /secret/path"));
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.problem->message.find("secret"), std::string::npos);
  EXPECT_EQ(Response::from_error(Error(Errc::kNotFound, "no run x")).problem->message, "no run x");
}

}  // namespace
}  // namespace glovebox::http
