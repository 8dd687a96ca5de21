// The head of a guest's answer: which ones are taken, and what follows them.
#include "http/proxy/upstream_answer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace glovebox::http {
namespace {

using Body = UpstreamHead::Body;
using Step = UpstreamHeadReader::Step;

constexpr int kMostInterim = 16;
constexpr std::size_t kMostBytes = 64 << 10;

Step step_of(const std::string& text) {
  UpstreamHeadReader reader(Method::kGet);
  std::size_t used = 0;
  return reader.read(text, used);
}
UpstreamHead head_of(const std::string& text, Method method = Method::kGet) {
  UpstreamHeadReader reader(method);
  std::size_t used = 0;
  EXPECT_EQ(reader.read(text, used), Step::kDone) << text;
  EXPECT_EQ(used, text.size()) << text;
  return reader.take();
}
std::string with_status(int status) { return "HTTP/1.1 " + std::to_string(status) + " X\r\n\r\n"; }

TEST(UpstreamHead, AStatusIsFrom100To599) {
  for (const int status : {101, 200, 204, 304, 404, 599}) {
    EXPECT_EQ(head_of(with_status(status)).status, status);
  }
  EXPECT_EQ(step_of(with_status(600)), Step::kMalformed);
  EXPECT_EQ(step_of("HTTP/1.1 099 X\r\n\r\n"), Step::kMalformed);
}

TEST(UpstreamHead, InterimAnswersArePassedOverAndBounded) {
  const auto after = [](int interim) {
    std::string text;
    for (int i = 0; i < interim; ++i) text += with_status(i % 2 == 0 ? 100 : 199);
    return text + with_status(200);
  };
  EXPECT_EQ(head_of(after(1)).status, 200);
  EXPECT_EQ(head_of(after(kMostInterim)).status, 200);
  EXPECT_EQ(step_of(after(kMostInterim + 1)), Step::kMalformed);
}

TEST(UpstreamHead, HasAtMost64Kilobytes) {
  const auto sized = [](std::size_t size) {
    const std::string begin = "HTTP/1.1 200 OK\r\nA: ";
    return begin + std::string(size - begin.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(step_of(sized(kMostBytes)), Step::kDone);
  EXPECT_EQ(step_of(sized(kMostBytes + 1)), Step::kMalformed);
}

TEST(UpstreamHead, SaysHowItsBodyEnds) {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  EXPECT_EQ(head_of(ok + "\r\n").body, Body::kToTheEnd);
  const UpstreamHead known = head_of(ok + "Content-Length: 7\r\n\r\n");
  EXPECT_EQ(known.body, Body::kLength);
  EXPECT_EQ(known.length, 7u);
  EXPECT_EQ(known.headers.get("Content-Length"), "7");
  EXPECT_EQ(head_of(ok + "Transfer-Encoding: chunked\r\n\r\n").body, Body::kChunked);
  for (const int status : {101, 204, 304}) {
    EXPECT_EQ(head_of(with_status(status)).body, Body::kNone) << status;
  }
  EXPECT_EQ(head_of(ok + "Content-Length: 7\r\n\r\n", Method::kHead).body, Body::kNone);
}

TEST(UpstreamHead, ComesInPieces) {
  const std::string text = with_status(100) + "HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
  UpstreamHeadReader reader(Method::kGet);
  std::string held;
  Step step = Step::kNeedMore;
  for (const char c : text) {
    ASSERT_EQ(step, Step::kNeedMore);
    held += c;
    std::size_t used = 0;
    step = reader.read(held, used);
    held.erase(0, used);
  }
  ASSERT_EQ(step, Step::kDone);
  EXPECT_EQ(reader.take().headers.get("A"), "b");
}

}  // namespace
}  // namespace glovebox::http
