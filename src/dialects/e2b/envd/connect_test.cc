#include "dialects/e2b/envd/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace glovebox::e2b {
namespace {

using ::testing::HasSubstr;

http::Request unary(std::string body) {
  http::Request request;
  request.headers.add("Content-Type", "application/json");
  request.body = std::move(body);
  return request;
}

http::Request streaming(std::string body) {
  http::Request request;
  request.headers.add("Content-Type", "application/connect+json");
  request.body = std::move(body);
  return request;
}

TEST(Connect, AMessageIsAnObjectWithOrWithoutAnEnvelope) {
  EXPECT_EQ(read_message(unary(R"({"path":"a"})"))->at("path").as_string(), "a");
  EXPECT_TRUE(read_message(unary(""))->empty());
  EXPECT_EQ(read_message(streaming(envelope(R"({"path":"b"})", 0)))->at("path").as_string(), "b");
  EXPECT_TRUE(read_message(streaming(envelope("", 0)))->empty());
}

TEST(Connect, AMalformedMessageIsAnInvalidArgument) {
  const std::string good = envelope("{}", 0);
  const std::string bad[] = {"",
                             std::string(2, '\0'),
                             good + "x",
                             good.substr(0, good.size() - 1),
                             good + good,
                             envelope("{}", 1),
                             envelope("{}", 2),
                             envelope("[]", 0),
                             envelope("{", 0),
                             std::string("\0\xff\xff\xff\xff{}", 7)};
  for (const std::string& body : bad) {
    const auto message = read_message(streaming(body));
    ASSERT_FALSE(message.has_value()) << body;
    EXPECT_EQ(message.error().code(), Errc::kInvalidArgument) << body;
  }
  for (const char* body : {"[]", "5", "{", "{}x", "null", R"({"a":1,"a":2})"}) {
    EXPECT_FALSE(read_message(unary(body)).has_value()) << body;
  }
}

TEST(Connect, AnEnvelopeHasItsLengthInNetworkOrder) {
  EXPECT_EQ(envelope("{}", 2), std::string("\x02\x00\x00\x00\x02{}", 7));
  EXPECT_EQ(envelope(std::string(258, 'x'), 0).substr(0, 5),
            std::string("\x00\x00\x00\x01\x02", 5));
}

TEST(Connect, ErrorsHaveTheCodesThatClientsKnow) {
  EXPECT_EQ(failure_of(Error(Errc::kNotFound, "x")).code, Code::kNotFound);
  EXPECT_EQ(failure_of(Error(Errc::kInternal, "x", ENOENT)).code, Code::kNotFound);
  EXPECT_EQ(failure_of(Error(Errc::kInternal, "x", EEXIST)).code, Code::kAlreadyExists);
  EXPECT_EQ(failure_of(Error(Errc::kInternal, "x", ENOTDIR)).code, Code::kInvalidArgument);
  EXPECT_EQ(failure_of(Error(Errc::kUnavailable, "x")).code, Code::kUnavailable);
  const http::Response answer = failure_response({Code::kNotFound, "no \"such\" file"});
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.headers.get("Content-Type"), "application/json");
  EXPECT_EQ(answer.body, R"({"code":"not_found","message":"no \"such\" file"})");
  // A guest's bytes may be in it.
  EXPECT_THAT(failure_response({Code::kInternal, "\xff"}).body, HasSubstr("internal"));
}

}  // namespace
}  // namespace glovebox::e2b
