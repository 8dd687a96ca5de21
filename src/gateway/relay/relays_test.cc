#include "gateway/relay/relays.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <filesystem>
#include <map>
#include <memory>
#include <numeric>

#include "gateway/testing/test_sockets.h"

namespace glovebox::gateway {
namespace {

using testing::connect_pair;
using testing::Connection;
using testing::Reader;
using testing::reset_now;
using testing::run_until;
using testing::send_text;

class Owner final : public RelayOwner {
 public:
  std::uint64_t budget = ~0ull;
  std::uint64_t out = 0;
  std::uint64_t in = 0;
  std::map<RelayId, bool> ended;  // whether by the budget

  std::uint64_t bytes_left() const override { return budget - out; }
  void on_moved(RelayId, std::uint64_t more_out, std::uint64_t more_in) override {
    out += more_out;
    in += more_in;
  }
  void on_relay_end(RelayId id, bool by_budget) override { ended[id] = by_budget; }
};

// guest <-> [ relay ] <-> server
struct Relayed {
  UniqueFd guest;
  UniqueFd server;
  RelayId id = 0;
};

// With pipes and without: the same has to hold.
class RelaysTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  RelaysTest() : relays_(Relays::make(io_, GetParam()).value()) {}

  Relayed relay() {
    Connection left = connect_pair();
    Connection right = connect_pair();
    Relayed made{std::move(left.client), std::move(right.server), 0};
    made.id = relays_->start(std::move(left.server), std::move(right.client), owner_).value();
    return made;
  }
  // As much as the connection takes without a reader.
  std::string send_until_full(const UniqueFd& socket) {
    std::string sent;
    std::string part(64 * 1024, '\0');
    for (int quiet = 0; quiet < 20;) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        const std::size_t at = sent.size() + i;
        part[i] = static_cast<char>(at ^ (at >> 8) ^ (at >> 16));
      }
      const ssize_t size = ::send(socket.get(), part.data(), part.size(), MSG_NOSIGNAL);
      if (size > 0) {
        sent.append(part.data(), static_cast<std::size_t>(size));
        quiet = 0;
      } else {
        ++quiet;
      }
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(5));
    }
    return sent;
  }

  asio::io_context io_{1};
  Owner owner_;
  std::unique_ptr<Relays> relays_;
};

TEST_P(RelaysTest, CarriesBytesBothWaysAndCountsThem) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  Reader at_guest(one.guest.get());
  send_text(one.guest, "question");
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has("question"); }));
  send_text(one.server, "an answer");
  EXPECT_TRUE(run_until(io_, [&] { return at_guest.has("an answer"); }));
  EXPECT_EQ(owner_.out, 8u);
  EXPECT_EQ(owner_.in, 9u);
  EXPECT_EQ(relays_->pipes_in_use(), 0u);
}

TEST_P(RelaysTest, AnEndOfOneDirectionLeavesTheOtherOpen) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  Reader at_guest(one.guest.get());
  send_text(one.guest, "all of it");
  ::shutdown(one.guest.get(), SHUT_WR);
  ASSERT_TRUE(run_until(io_, [&] { return at_server.has_ended(); }));
  EXPECT_EQ(at_server.text, "all of it");
  EXPECT_EQ(relays_->open(), 1u);
  send_text(one.server, "thanks");
  ASSERT_TRUE(run_until(io_, [&] { return at_guest.has("thanks"); }));
  EXPECT_FALSE(at_guest.ended);
  one.server.reset();
  ASSERT_TRUE(run_until(io_, [&] { return at_guest.has_ended(); }));
  EXPECT_TRUE(run_until(io_, [&] { return owner_.ended.contains(one.id); }));
  EXPECT_FALSE(owner_.ended.at(one.id));
  EXPECT_EQ(relays_->open(), 0u);
}

TEST_P(RelaysTest, AServerMayEndFirst) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  Reader at_guest(one.guest.get());
  send_text(one.server, "banner");
  ::shutdown(one.server.get(), SHUT_WR);
  ASSERT_TRUE(run_until(io_, [&] { return at_guest.has_ended(); }));
  EXPECT_EQ(at_guest.text, "banner");
  send_text(one.guest, "still here");
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has("still here"); }));
  one.guest.reset();
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has_ended() && relays_->open() == 0; }));
}

TEST_P(RelaysTest, AResetOfTheGuestsIsAResetForTheServer) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  send_text(one.guest, "begun");
  ASSERT_TRUE(run_until(io_, [&] { return at_server.has("begun"); }));
  reset_now(one.guest);
  EXPECT_TRUE(run_until(io_, [&] { return at_server.was_reset(); }));
  EXPECT_TRUE(run_until(io_, [&] { return owner_.ended.contains(one.id); }));
}

TEST_P(RelaysTest, AResetOfTheServersIsAResetForTheGuest) {
  Relayed one = relay();
  Reader at_guest(one.guest.get());
  reset_now(one.server);
  EXPECT_TRUE(run_until(io_, [&] { return at_guest.was_reset(); }));
  EXPECT_TRUE(run_until(io_, [&] { return owner_.ended.contains(one.id); }));
}

// Both have ended one direction already, and nothing is on its way.
TEST_P(RelaysTest, AResetAfterAHalfCloseIsNoticed) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  ::shutdown(one.guest.get(), SHUT_WR);
  ASSERT_TRUE(run_until(io_, [&] { return at_server.has_ended(); }));
  reset_now(one.guest);
  Reader again(one.server.get());
  EXPECT_TRUE(run_until(io_, [&] {
    pollfd event{one.server.get(), 0, 0};
    return ::poll(&event, 1, 0) == 1 && (event.revents & (POLLERR | POLLHUP)) != 0;
  }));
  EXPECT_TRUE(run_until(io_, [&] { return relays_->open() == 0; }));
}

TEST_P(RelaysTest, WhatCameBeforeAResetArrives) {
  Relayed one = relay();
  Reader at_guest(one.guest.get());
  send_text(one.server, "error: go away");
  reset_now(one.server);
  EXPECT_TRUE(run_until(io_, [&] { return at_guest.is_over(); }));
  EXPECT_EQ(at_guest.text, "error: go away");
}

TEST_P(RelaysTest, ASideThatDoesNotReadStopsTheOtherAndLosesNothing) {
  Relayed one = relay();
  const std::string sent = send_until_full(one.guest);
  EXPECT_GT(sent.size(), 64u * 1024);
  EXPECT_LT(sent.size(), 64u * 1024 * 1024);  // the sender was stopped
  EXPECT_LE(relays_->pipes_in_use(), 1u);
  // Meanwhile the other direction works.
  Reader at_guest(one.guest.get());
  send_text(one.server, "slowly, please");
  ASSERT_TRUE(run_until(io_, [&] { return at_guest.has("slowly, please"); }));
  Reader at_server(one.server.get());
  ASSERT_TRUE(run_until(io_, [&] {
    at_server.read();
    return at_server.text.size() >= sent.size();
  }));
  EXPECT_TRUE(at_server.text == sent);
  EXPECT_EQ(owner_.out, sent.size());
  ASSERT_TRUE(run_until(io_, [&] { return relays_->pipes_in_use() == 0; }));
}

TEST_P(RelaysTest, AGuestThatIsResetWhileItsServerDoesNotReadIsLetGo) {
  Relayed one = relay();
  (void)send_until_full(one.guest);
  reset_now(one.guest);
  EXPECT_TRUE(run_until(io_, [&] { return relays_->open() == 0; }));
  EXPECT_EQ(relays_->pipes_in_use(), 0u);
  EXPECT_EQ(owner_.pipes_held, 0u);
}

TEST_P(RelaysTest, TheBudgetIsExact) {
  owner_.budget = 100'000;
  Relayed one = relay();
  Reader at_server(one.server.get());
  Reader at_guest(one.guest.get());
  std::string text(300'000, 'x');
  std::iota(text.begin(), text.end(), '\0');
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t size = ::send(one.guest.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (size > 0) at += static_cast<std::size_t>(size);
    if (size < 0 && errno != EAGAIN) break;  // cut already
    io_.restart();
    io_.run_one_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(run_until(io_, [&] { return at_server.is_over(); }));
  EXPECT_EQ(at_server.text.size(), 100'000u);
  EXPECT_EQ(at_server.text, text.substr(0, 100'000));
  EXPECT_EQ(owner_.out, 100'000u);
  EXPECT_TRUE(run_until(io_, [&] { return at_guest.was_reset(); }));
  EXPECT_TRUE(owner_.ended.at(one.id));
}

TEST_P(RelaysTest, AnEndAtExactlyTheBudgetIsAnEnd) {
  owner_.budget = 5;
  Relayed one = relay();
  Reader at_server(one.server.get());
  Reader at_guest(one.guest.get());
  send_text(one.guest, "12345");
  ::shutdown(one.guest.get(), SHUT_WR);
  ASSERT_TRUE(run_until(io_, [&] { return at_server.has_ended(); }));
  EXPECT_EQ(at_server.text, "12345");
  send_text(one.server, "received");
  EXPECT_TRUE(run_until(io_, [&] { return at_guest.has("received"); }));
}

// One budget for all: what one relay has used the other has not.
TEST_P(RelaysTest, TheBudgetIsShared) {
  owner_.budget = 6;
  Relayed first = relay();
  Relayed second = relay();
  Reader at_first(first.server.get());
  Reader at_second(second.server.get());
  send_text(first.guest, "1234");
  ASSERT_TRUE(run_until(io_, [&] { return at_first.has("1234"); }));
  send_text(second.guest, "5678");
  ASSERT_TRUE(run_until(io_, [&] { return at_second.is_over(); }));
  EXPECT_EQ(at_second.text, "56");
  EXPECT_TRUE(owner_.ended.at(second.id));
}

TEST_P(RelaysTest, CutResetsBothSides) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  Reader at_guest(one.guest.get());
  relays_->cut(one.id);
  EXPECT_TRUE(run_until(io_, [&] { return at_server.was_reset() && at_guest.was_reset(); }));
  EXPECT_TRUE(owner_.ended.empty());
  EXPECT_EQ(relays_->open(), 0u);
}

// splice() stops there; telnet and ftp still use it.
TEST_P(RelaysTest, UrgentBytesAreBytesLikeOthersInTheirPlace) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  send_text(one.guest, "ab");
  (void)!::send(one.guest.get(), "c", 1, MSG_OOB | MSG_NOSIGNAL);
  send_text(one.guest, "de");
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has("abcde"); })) << at_server.text;
  (void)!::send(one.guest.get(), "f", 1, MSG_OOB | MSG_NOSIGNAL);
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has("abcdef"); })) << at_server.text;
  send_text(one.guest, "g");
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has("abcdefg"); })) << at_server.text;
  EXPECT_EQ(owner_.out, 7u);
}

// There splice() says that this is the end, and it is not.
TEST_P(RelaysTest, NothingBehindAnUrgentByteIsLostAtTheEnd) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  send_text(one.guest, "ab");
  (void)!::send(one.guest.get(), "c", 1, MSG_OOB | MSG_NOSIGNAL);
  send_text(one.guest, std::string(4000, 'd'));
  ::shutdown(one.guest.get(), SHUT_WR);
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has_ended(); }));
  EXPECT_EQ(at_server.text, "abc" + std::string(4000, 'd'));
}

// A program sends and exits, and its sandbox ends with it.
TEST_P(RelaysTest, WhatWasSentBeforeTheEndStillArrives) {
  Relayed one = relay();
  Reader at_server(one.server.get());
  Reader at_guest(one.guest.get());
  send_text(one.guest, "fire and forget");
  relays_->flush(one.id);  // before the relay has had a turn
  EXPECT_TRUE(run_until(io_, [&] { return at_server.has_ended(); }));
  EXPECT_EQ(at_server.text, "fire and forget");
  EXPECT_TRUE(at_guest.was_reset());
  EXPECT_EQ(owner_.out, 15u);
  EXPECT_EQ(relays_->open(), 0u);
}

TEST_P(RelaysTest, AServerThatDoesNotTakeItIsResetAtTheEnd) {
  Relayed one = relay();
  (void)send_until_full(one.guest);
  relays_->flush(one.id);
  Reader at_server(one.server.get());
  EXPECT_TRUE(run_until(io_, [&] { return at_server.is_over(); }));
  EXPECT_EQ(at_server.error, ECONNRESET);
}

TEST_P(RelaysTest, ABusyRelayLetsOthersHaveTheirTurn) {
  Relayed busy = relay();
  Relayed other = relay();
  Reader at_other(other.server.get());
  const std::string part(256 * 1024, 'b');
  std::size_t received = 0;
  std::vector<char> sink(1 << 20);
  send_text(other.guest, "now");
  bool arrived = false;
  while (!arrived && received < (1u << 28)) {
    (void)!::send(busy.guest.get(), part.data(), part.size(), MSG_NOSIGNAL);
    io_.restart();
    io_.run_one_for(std::chrono::milliseconds(5));
    const ssize_t size = ::recv(busy.server.get(), sink.data(), sink.size(), MSG_DONTWAIT);
    if (size > 0) received += static_cast<std::size_t>(size);
    arrived = at_other.has("now");
  }
  EXPECT_TRUE(arrived);
  EXPECT_LT(received, 8u * Relay::kMaxBytes);
}

INSTANTIATE_TEST_SUITE_P(WithPipesAndWithout, RelaysTest, ::testing::Values(1024, 0),
                         [](const auto& one) { return one.param == 0 ? "Copied" : "Spliced"; });

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Relays, AThousandThatAreSilentHoldTheirSocketsAndNothingElse) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < 5000) GTEST_SKIP() << "too few descriptors";
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  asio::io_context io{1};
  Owner owner;
  const auto relays = Relays::make(io).value();
  const std::size_t before = open_descriptors();
  std::vector<Relayed> all;
  for (int i = 0; i < 1000; ++i) {
    Connection left = connect_pair();
    Connection right = connect_pair();
    Relayed made{std::move(left.client), std::move(right.server), 0};
    made.id = relays->start(std::move(left.server), std::move(right.client), owner).value();
    all.push_back(std::move(made));
  }
  // Each has carried something once.
  for (const Relayed& one : all) send_text(one.guest, "x");
  std::size_t arrived = 0;
  ASSERT_TRUE(run_until(io, [&] {
    for (const Relayed& one : all) {
      char byte;
      if (::recv(one.server.get(), &byte, 1, MSG_DONTWAIT) == 1) ++arrived;
    }
    return arrived == all.size();
  }));
  ASSERT_TRUE(run_until(io, [&] { return relays->pipes_in_use() == 0; }));
  io.restart();
  io.poll();
  // Ours here, theirs there, and a few idle pipes.
  EXPECT_LE(open_descriptors(), before + 4 * all.size() + 2 * PipePool::kMaxIdle);
  EXPECT_EQ(relays->open(), all.size());
  // There are no wake-ups while nothing happens.
  io.restart();
  EXPECT_EQ(io.run_for(std::chrono::milliseconds(50)), 0u);
}

// However many relays another sandbox keeps busy.
TEST(Relays, EachSandboxHasItsTurn) {
  asio::io_context io{1};
  Owner hog;
  Owner other;
  const auto relays = Relays::make(io).value();
  const auto start = [&](Owner& owner) {
    Connection left = connect_pair();
    Connection right = connect_pair();
    Relayed made{std::move(left.client), std::move(right.server), 0};
    made.id = relays->start(std::move(left.server), std::move(right.client), owner).value();
    return made;
  };
  std::vector<Relayed> busy;
  for (int i = 0; i < 100; ++i) busy.push_back(start(hog));
  Relayed one = start(other);
  const std::string part(512 * 1024, 'b');
  std::vector<char> sink(1 << 20);
  std::uint64_t most = 0;
  for (int round = 0; round < 5; ++round) {
    for (const Relayed& each : busy) {
      (void)!::send(each.guest.get(), part.data(), part.size(), MSG_NOSIGNAL);
      (void)!::recv(each.server.get(), sink.data(), sink.size(), MSG_DONTWAIT);
    }
    const std::uint64_t before = hog.out;
    send_text(one.guest, "x");
    Reader at_server(one.server.get());
    ASSERT_TRUE(run_until(io, [&] { return at_server.has("x"); }));
    most = std::max(most, hog.out - before);
  }
  // A turn or two of the busy ones', not one of each of them (some 20 MiB).
  EXPECT_LT(most, 4u * 1024 * 1024);
}

// Of one sandbox whose servers do not read, only so many have a pipe; the others work without.
TEST(Relays, OneSandboxCannotHaveAllPipes) {
  asio::io_context io{1};
  Owner hog;
  const auto relays = Relays::make(io).value();
  std::vector<Relayed> stuck;
  const std::string part(128 * 1024, 'p');
  for (std::size_t i = 0; i < Relay::kMaxPipesOfOwner + 16; ++i) {
    Connection left = connect_pair();
    Connection right = connect_pair();
    const int small = 4096;
    ::setsockopt(right.client.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    ::setsockopt(right.server.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    Relayed made{std::move(left.client), std::move(right.server), 0};
    made.id = relays->start(std::move(left.server), std::move(right.client), hog).value();
    stuck.push_back(std::move(made));
  }
  for (int round = 0; round < 20; ++round) {
    for (const Relayed& one : stuck) {
      (void)!::send(one.guest.get(), part.data(), part.size(), MSG_NOSIGNAL);
    }
    io.restart();
    io.run_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(hog.pipes_held, Relay::kMaxPipesOfOwner);
  EXPECT_EQ(relays->pipes_in_use(), Relay::kMaxPipesOfOwner);
  for (const Relayed& one : stuck) relays->cut(one.id);
  EXPECT_EQ(hog.pipes_held, 0u);
  EXPECT_EQ(relays->pipes_in_use(), 0u);
}

}  // namespace
}  // namespace glovebox::gateway
