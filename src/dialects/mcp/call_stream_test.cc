#include "dialects/mcp/call_stream.h"

#include <gtest/gtest.h>

namespace glovebox::mcp {
namespace {

class CountingWriter final : public http::ResponseWriter {
 public:
  asio::awaitable<bool> begin(int, http::Headers) override {
    has_begun = true;
    co_return true;
  }
  asio::awaitable<bool> write(std::string) override {
    ++written;
    co_return true;
  }
  asio::awaitable<bool> finish() override { co_return true; }
  bool begun() const override { return has_begun; }

  bool has_begun = false;
  int written = 0;
};

CallStream::Options with_progress() {
  CallStream::Options options;
  options.forms.events = true;
  options.token = boost::json::value("t");
  return options;
}

TEST(CallStream, SendsWhatIsPrinted) {
  asio::io_context io;
  CountingWriter writer;
  CallStream stream(io, writer, with_progress());
  stream.begin();
  stream.show("printed");
  while (writer.written == 0) io.run_one();
  EXPECT_TRUE(writer.has_begun);
}

// As when a call ends without an answer, by an exception.
TEST(CallStream, WritesNothingAfterItsDestruction) {
  asio::io_context io;
  CountingWriter writer;
  {
    CallStream stream(io, writer, with_progress());
    stream.begin();
    stream.show("printed");
    io.poll();  // until it waits for its first tick
  }
  io.run();
  EXPECT_FALSE(writer.has_begun);
  EXPECT_EQ(writer.written, 0);
}

}  // namespace
}  // namespace glovebox::mcp
