// Transfers between sandboxes: complete, limited in size, and ended when they stall.
#include "packages/builds/tree_transfer.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include "packages/builds/testing/fake_build_host.h"
#include "store/sha256.h"

namespace glovebox::packages {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TreeTransferTest : public testing::Test {
 protected:
  template <class T>
  Result<T> await(Task<T> task) {
    std::optional<Result<T>> result;
    asio::co_spawn(io, std::move(task), [&](std::exception_ptr error, Result<T> value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    });
    const auto deadline = std::chrono::steady_clock::now() + seconds(10);
    while (!result && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_one_for(milliseconds(20));
    }
    return result ? std::move(*result) : fail(Errc::kTimeout, "it does not end");
  }
  FakeRoom& room() {
    EXPECT_TRUE(await(host.create_session({}, nullptr)).has_value());
    return *host.rooms.back();
  }
  static TransferEnd end(const FakeRoom& room, wire::FileOp op, std::string path) {
    TransferEnd one{.session = room.session, .request = {}};
    one.request.op = op;
    one.request.path = std::move(path);
    return one;
  }

  asio::io_context io;
  FakeBuildHost host{io};
};

TEST_F(TreeTransferTest, ATreeArrivesWhole) {
  FakeRoom& from = room();
  FakeRoom& to = room();
  from.put("/a/one", std::string(700'000, 'x'));
  from.put("/a/b/two", "2");
  from.put("/elsewhere", "no");
  const auto moved = await(transfer_bytes(io, end(from, wire::FileOp::kTarOut, "/a"),
                                          end(to, wire::FileOp::kTarIn, "/z"), {.most = 1u << 20}));
  ASSERT_TRUE(moved.has_value()) << moved.error().message();
  EXPECT_EQ(moved->in.entries, 2u);
  EXPECT_EQ(moved->bytes, fake_archive(from, "/a").size());
  EXPECT_EQ(to.files.at("/z/b/two"), "2");
  EXPECT_EQ(to.files.at("/z/one").size(), 700'000u);
  EXPECT_EQ(to.files.size(), 2u);
}

TEST_F(TreeTransferTest, RefusesTooMuchDataAndKeepsNothing) {
  FakeRoom& from = room();
  FakeRoom& to = room();
  from.put("/a/one", std::string(300'000, 'x'));
  const auto moved = await(transfer_bytes(io, end(from, wire::FileOp::kTarOut, "/a"),
                                          end(to, wire::FileOp::kTarIn, "/z"), {.most = 200'000}));
  ASSERT_FALSE(moved.has_value());
  EXPECT_EQ(moved.error().sys_errno(), EFBIG);
  EXPECT_TRUE(to.files.empty());
}

TEST_F(TreeTransferTest, AbortsAStalledTransfer) {
  FakeRoom& from = room();
  FakeRoom& to = room();
  from.put("/a/one", "x");
  host.is_stuck = true;
  const TransferLimits bounds{.most = 100, .patience = milliseconds(30)};
  const auto moved = await(transfer_bytes(io, end(from, wire::FileOp::kTarOut, "/a"),
                                          end(to, wire::FileOp::kTarIn, "/z"), bounds));
  ASSERT_FALSE(moved.has_value());
  EXPECT_EQ(moved.error().code(), Errc::kTimeout);
  EXPECT_EQ(moved.error().message(), "the transfer between build sandboxes stalled");
}

TEST_F(TreeTransferTest, FailsForAMissingTree) {
  FakeRoom& from = room();
  FakeRoom& to = room();
  const auto moved = await(transfer_bytes(io, end(from, wire::FileOp::kTarOut, "/a"),
                                          end(to, wire::FileOp::kTarIn, "/z"), {.most = 100}));
  EXPECT_EQ(moved.error().code(), Errc::kNotFound);
}

TEST_F(TreeTransferTest, HashesTheArchive) {
  FakeRoom& from = room();
  from.put("/layer/x", std::string(400'000, 'y'));
  const auto hashed =
      await(hash_bytes(io, end(from, wire::FileOp::kTarOut, "/layer"), {.most = 1u << 20}));
  ASSERT_TRUE(hashed.has_value()) << hashed.error().message();
  EXPECT_EQ(hashed->sha256, store::sha256_hex(fake_archive(from, "/layer")));
}

}  // namespace
}  // namespace glovebox::packages
