#include "sessions/files/directory_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <vector>

namespace glovebox::sessions {
namespace {

using ::testing::ElementsAre;

// Returns its bytes a few at a time, so that records arrive in pieces.
class ListedBytes final : public node::FileTransfer {
 public:
  const std::string& entry() const override { return none_; }
  asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override {
    const std::size_t count = std::min({size, piece, bytes.size()});
    std::copy_n(bytes.begin(), count, into);
    bytes.erase(0, count);
    co_return count;
  }
  asio::awaitable<bool> write(std::string_view) override { co_return false; }
  void commit() override {}
  Task<wire::FileDone> done() override { co_return outcome; }
  void close() override {}

  std::string bytes;
  std::size_t piece = 3;
  Result<wire::FileDone> outcome = wire::FileDone{};

 private:
  std::string none_;
};

struct Listed {
  std::vector<std::string> paths;
  bool is_truncated = false;
  std::optional<Error> error{};
};

asio::awaitable<void> read_all(node::FileTransfer& transfer, Listed& listed) {
  DirectoryListing listing(transfer);
  while (true) {
    const auto entry = co_await listing.next();
    if (!entry) listed.error = entry.error();
    if (!entry || !*entry) break;
    listed.paths.push_back((*entry)->path);
  }
  listed.is_truncated = listing.is_truncated();
}

Listed list(ListedBytes& transfer) {
  asio::io_context io;
  Listed listed;
  asio::co_spawn(io, read_all(transfer, listed), asio::detached);
  io.run();
  return listed;
}

std::string record_of(const char* path) {
  wire::FileEntry entry;
  entry.path = path;
  return wire::encode_record(entry);
}

TEST(DirectoryListing, ReturnsEveryEntryHoweverTheBytesArrive) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    ListedBytes transfer;
    transfer.piece = piece;
    transfer.bytes = record_of("a") + record_of("b/c");
    const Listed listed = list(transfer);
    EXPECT_FALSE(listed.error);
    EXPECT_THAT(listed.paths, ElementsAre("a", "b/c"));
    EXPECT_FALSE(listed.is_truncated);
  }
}

TEST(DirectoryListing, ReportsThatEntriesWereLeftOut) {
  ListedBytes transfer;
  transfer.bytes = record_of("a");
  transfer.outcome->message = "truncated";
  EXPECT_TRUE(list(transfer).is_truncated);
}

TEST(DirectoryListing, AnIncompleteRecordIsAProtocolError) {
  ListedBytes transfer;
  const std::string second = record_of("b");
  transfer.bytes = record_of("a") + second.substr(0, second.size() - 1);
  const Listed listed = list(transfer);
  EXPECT_THAT(listed.paths, ElementsAre("a"));
  ASSERT_TRUE(listed.error);
  EXPECT_EQ(listed.error->code(), Errc::kProtocol);
}

TEST(DirectoryListing, AnErrorOfTheHelperIsReturned) {
  ListedBytes transfer;
  transfer.outcome = fail(Error::from_errno("open", ENOENT));
  const Listed listed = list(transfer);
  ASSERT_TRUE(listed.error);
  EXPECT_EQ(listed.error->sys_errno(), ENOENT);
}

}  // namespace
}  // namespace glovebox::sessions
