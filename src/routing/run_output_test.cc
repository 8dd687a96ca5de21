#include "routing/run_output.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "api/testing/test_server.h"

namespace glovebox::routing {
namespace {

bool done(asio::awaitable<bool> work) {
  asio::io_context io;
  std::optional<bool> result;
  asio::co_spawn(
      io, [&]() -> asio::awaitable<void> { result = co_await std::move(work); }, asio::detached);
  io.run();
  return result.value();
}

TEST(AnswerForm, IsChosenByTheAcceptHeader) {
  const auto form = [](const char* accept) {
    http::Request request;
    request.headers.add("Accept", accept);
    return answer_form(request);
  };
  EXPECT_EQ(form("text/event-stream"), AnswerForm::kEvents);
  EXPECT_EQ(form("application/json, text/event-stream;q=0.9"), AnswerForm::kEvents);
  EXPECT_EQ(form("application/x-ndjson"), AnswerForm::kLines);
  EXPECT_EQ(form("*/*"), AnswerForm::kJson);
  EXPECT_EQ(answer_form({}), AnswerForm::kJson);
}

TEST(KeepingSink, KeepsWhatThereIsRoomForAndSaysSo) {
  MemoryBudget budget(20);
  {
    KeepingSink sink(budget, "project");
    EXPECT_TRUE(done(sink.on_output(false, "12345")));
    EXPECT_TRUE(done(sink.on_output(true, "12345")));
    EXPECT_FALSE(sink.truncated()) << "that is all of the room";
    EXPECT_EQ(sink.out, "12345");
    EXPECT_EQ(sink.err, "12345");
    EXPECT_TRUE(done(sink.on_output(false, "6")));
    EXPECT_TRUE(sink.truncated());
    EXPECT_EQ(sink.out, "12345");
    EXPECT_TRUE(done(sink.on_output(false, "")));
    EXPECT_TRUE(sink.truncated()) << "once cut, it stays cut";
    EXPECT_EQ(budget.held(), 10u);
  }
  EXPECT_EQ(budget.held(), 0u);
}

TEST(KeepingSink, AResultThatDoesNotFitEndsTheRun) {
  MemoryBudget budget(8);
  KeepingSink sink(budget, "project");
  EXPECT_TRUE(done(sink.on_result("1234")));
  EXPECT_FALSE(done(sink.on_result("5")));
}

TEST(StreamingSink, WritesEventsAndBeginsOnce) {
  api::RecordingWriter writer;
  StreamingSink sink(writer, AnswerForm::kEvents);
  EXPECT_TRUE(done(sink.on_output(false, "a\xe2\x82")));
  EXPECT_TRUE(done(sink.on_output(true, "b")));
  EXPECT_TRUE(done(sink.on_idle()));
  EXPECT_TRUE(done(sink.on_output(false, "")));
  EXPECT_TRUE(done(sink.on_result("no result")));
  EXPECT_TRUE(done(sink.finish("exit", "{\"code\":0}\n")));
  EXPECT_EQ(writer.status, 200);
  EXPECT_EQ(writer.headers.get("Content-Type"), "text/event-stream; charset=utf-8");
  EXPECT_EQ(writer.headers.count("Cache-Control"), 1u);
  EXPECT_EQ(writer.body,
            "event: stdout\ndata: {\"text\":\"a\"}\n\n"
            "event: stderr\ndata: {\"text\":\"b\"}\n\n"
            ": keepalive\n\n"
            "event: stdout\ndata: {\"base64\":\"4oI=\"}\n\n"
            "event: exit\ndata: {\"code\":0}\n\n");
  EXPECT_TRUE(writer.finished);
  EXPECT_EQ(sink.out, "a\xe2\x82");
  EXPECT_EQ(sink.err, "b");
}

TEST(StreamingSink, WritesLinesOfJson) {
  api::RecordingWriter writer;
  StreamingSink sink(writer, AnswerForm::kLines);
  EXPECT_TRUE(done(sink.on_output(true, "b\xff")));
  EXPECT_TRUE(done(sink.on_idle()));
  EXPECT_TRUE(done(sink.finish("exit", "{\"code\":0}")));
  EXPECT_EQ(writer.headers.get("Content-Type"), "application/x-ndjson");
  EXPECT_EQ(writer.body,
            "{\"event\":\"stderr\",\"base64\":\"Yv8=\"}\n\n{\"event\":\"exit\",\"code\":0}\n");
}

// A client that left before the answer began.
class GoneWriter final : public http::ResponseWriter {
 public:
  asio::awaitable<bool> begin(int, http::Headers) override { co_return false; }
  asio::awaitable<bool> write(std::string) override {
    ++writes;
    co_return true;
  }
  asio::awaitable<bool> finish() override {
    ++writes;
    co_return true;
  }
  bool begun() const override { return false; }

  int writes = 0;
};

TEST(StreamingSink, WritesNothingToAClientThatIsGone) {
  for (const AnswerForm form : {AnswerForm::kEvents, AnswerForm::kLines}) {
    GoneWriter writer;
    StreamingSink sink(writer, form);
    EXPECT_FALSE(done(sink.on_output(false, "a")));
    EXPECT_FALSE(done(sink.on_idle()));
    EXPECT_FALSE(done(sink.finish("exit", "{}")));
    EXPECT_EQ(writer.writes, 0);
    EXPECT_FALSE(sink.begun());
  }
}

TEST(StreamingSink, EmptyOutputAndWhatIsNoResultBeginNoAnswer) {
  api::RecordingWriter writer;
  StreamingSink sink(writer, AnswerForm::kEvents);
  EXPECT_TRUE(done(sink.on_output(false, "")));
  EXPECT_TRUE(done(sink.on_result("no result")));
  EXPECT_FALSE(sink.begun());
  EXPECT_EQ(writer.body, "");
}

TEST(StreamingSink, KeepsTheBeginningForTheRecord) {
  api::RecordingWriter writer;
  StreamingSink sink(writer, AnswerForm::kLines);
  EXPECT_TRUE(done(sink.on_output(false, std::string(64 * 1024 - 1, 'x'))));
  EXPECT_TRUE(done(sink.on_output(false, "yz")));
  EXPECT_EQ(sink.out.size(), 64u * 1024);
  EXPECT_EQ(sink.out.back(), 'y');
}

}  // namespace
}  // namespace glovebox::routing
