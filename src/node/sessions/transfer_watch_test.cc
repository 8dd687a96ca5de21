#include "node/sessions/transfer_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace glovebox::node {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Only counts how often it was closed.
class IdleTransfer final : public FileTransfer {
 public:
  const std::string& entry() const override { return entry_; }
  boost::asio::awaitable<std::size_t> read_some(char*, std::size_t) override { co_return 0; }
  boost::asio::awaitable<bool> write(std::string_view) override { co_return false; }
  void commit() override {}
  Task<wire::FileDone> done() override { co_return wire::FileDone{}; }
  void close() override { ++closed; }
  int closed = 0;

 private:
  std::string entry_;
};

class TransferWatchTest : public ::testing::Test {
 protected:
  boost::asio::io_context io;
  IdleTransfer out, in;
};

TEST_F(TransferWatchTest, ClosesEveryTransferInWhichNothingMoves) {
  TransferWatch watch(io, milliseconds(1), "it stalled");
  watch.watch(out);
  watch.watch(in);
  io.run();  // ends when no timer is left
  EXPECT_EQ(out.closed, 1);
  EXPECT_EQ(in.closed, 1);
  const Result<> verdict = watch.verdict();
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code(), Errc::kTimeout);
  EXPECT_EQ(verdict.error().message(), "it stalled");
}

TEST_F(TransferWatchTest, ClosesATransferAtItsDeadlineAlthoughBytesMove) {
  TransferWatch watch(io, hours(1), "it stalled");
  watch.end_at(std::chrono::steady_clock::now() + milliseconds(1), "it took too long");
  watch.watch(out);
  watch.feed();
  io.run();
  EXPECT_EQ(out.closed, 1);
  EXPECT_EQ(watch.verdict().error().message(), "it took too long");
}

TEST_F(TransferWatchTest, HasNoVerdictWhileBytesMove) {
  TransferWatch watch(io, hours(1), "it stalled");
  watch.watch(out);
  watch.feed();
  io.poll();  // the handler of the first timer, which feed() cancelled
  EXPECT_EQ(out.closed, 0);
  EXPECT_TRUE(watch.verdict());
}

TEST_F(TransferWatchTest, ClosesTransfersOfACallerThatNoLongerWaits) {
  auto cancel = std::make_shared<CancelFlag>();
  TransferWatch watch(io, hours(1), "it stalled", cancel);
  watch.watch(out);
  cancel->cancel();
  EXPECT_EQ(out.closed, 1);
  EXPECT_EQ(watch.verdict().error().code(), Errc::kUnavailable);
}

TEST_F(TransferWatchTest, LeavesTransfersAloneWhenItIsGone) {
  auto cancel = std::make_shared<CancelFlag>();
  {
    TransferWatch watch(io, milliseconds(0), "it stalled", cancel);
    watch.watch(out);
  }
  io.run();
  cancel->cancel();
  EXPECT_EQ(out.closed, 0);
}

}  // namespace
}  // namespace glovebox::node
