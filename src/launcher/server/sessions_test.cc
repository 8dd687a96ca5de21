// What a session's agent may say to the launcher, and how often. Its guest may have taken it over.
#include "launcher/server/sessions.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd_message.h"
#include "wire/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest()
      : child_(start_child()),
        watch_(SandboxWatch::open().value()),
        sessions_(broods_, watch_,
                  [this](Client&, const wire::LauncherReply& reply) { said_.push_back(reply); }) {
    SocketPair pair = seqpacket_pair().value();
    ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(pair.theirs.get(), F_SETFL, O_NONBLOCK);
    agent_ = std::move(pair.theirs);
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
    Sandbox sandbox(SandboxId::make(), Limits{}, WallSet{}, sys::Cgroup{}, std::move(pidfd), {});
    sandbox.become_session({.setup = std::move(pair.ours),
                            .server_end = {},
                            .upper = {},
                            .template_name = "python",
                            .zygote_uid = 7,
                            .init_pid = child_});
    owned_.emplace(Owned{std::move(sandbox), nullptr, 0, Limits{}, "python"});
    EXPECT_TRUE(watch_.add(*owned_));
  }
  ~SessionsTest() override {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  static pid_t start_child() {
    const pid_t child = ::fork();
    if (child == 0) {
      while (true) ::pause();
    }
    return child;
  }

  bool say(const wire::PlanMessage& message, std::size_t fds = 0) {
    const std::vector<int> passed(fds, STDIN_FILENO);
    return send_message(agent_.get(), wire::encode(message), passed).has_value();
  }
  // Until there is nothing more to hear; how often it was listened to.
  int listen() {
    int heard = 0;
    while (true) {
      const SandboxWatch::News news = watch_.take();
      if (news.talking.empty()) return heard;
      for (Owned* owned : news.talking) {
        sessions_.on_talk(*owned);
        ++heard;
      }
    }
  }
  std::optional<wire::JoinRefused> refusal() {
    auto received = receive_message(agent_.get(), wire::kMaxPlanMessage, 0);
    if (!received || received->bytes.empty()) return std::nullopt;
    const auto message = wire::decode_plan_message(received->bytes);
    if (!message) return std::nullopt;
    const auto* refused = std::get_if<wire::JoinRefused>(&*message);
    return refused != nullptr ? std::optional(*refused) : std::nullopt;
  }

  pid_t child_;
  Broods broods_{{}, {}};
  SandboxWatch watch_;
  std::vector<wire::LauncherReply> said_;
  Sessions sessions_;
  UniqueFd agent_;
  std::optional<Owned> owned_;
};

TEST_F(SessionsTest, WithoutItsZygoteNothingIsJoined) {
  ASSERT_TRUE(say(wire::JoinPlaces{5}, wire::kDescriptorsOfARuntime));
  EXPECT_EQ(listen(), 1);
  const auto refused = refusal();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->ticket, 5u);
  EXPECT_FALSE(owned_->sandbox.is_ending());
}

TEST_F(SessionsTest, OtherPlacesAreRefused) {
  for (const std::size_t places : {std::size_t{0}, wire::kDescriptorsOfARuntime - 1}) {
    ASSERT_TRUE(say(wire::JoinPlaces{6}, places));
    EXPECT_EQ(listen(), 1);
    EXPECT_TRUE(refusal()) << places;
  }
}

TEST_F(SessionsTest, WhoSaysWhatItMustNotIsEnded) {
  ASSERT_TRUE(say(wire::SandboxHello{}));
  listen();
  EXPECT_TRUE(owned_->sandbox.is_ending());
}

TEST_F(SessionsTest, TooManyDescriptorsAreNotTaken) {
  ASSERT_TRUE(say(wire::JoinPlaces{6}, wire::kDescriptorsOfARuntime + 1));
  listen();
  EXPECT_TRUE(owned_->sandbox.is_ending());
}

TEST_F(SessionsTest, GarbageEndsIt) {
  const std::byte garbage[] = {std::byte{1}, std::byte{2}};
  ASSERT_TRUE(send_message(agent_.get(), garbage));
  listen();
  EXPECT_TRUE(owned_->sandbox.is_ending());
}

TEST_F(SessionsTest, AnAgentThatHangsUpIsNotListenedToAgain) {
  agent_.reset();
  EXPECT_EQ(listen(), 1);
  EXPECT_EQ(listen(), 0);
}

TEST_F(SessionsTest, AFloodIsHeardABoundedNumberOfTimes) {
  while (say(wire::RuntimeReady{})) {
  }
  const int first = listen();
  EXPECT_GT(first, 10);
  EXPECT_LT(first, 100);
  EXPECT_EQ(listen(), 0);  // not before there are words again
  const auto now = Clock::now();
  EXPECT_TRUE(sessions_.next_look(now));
  sessions_.look(now + std::chrono::seconds(1));
  const int then = listen();
  EXPECT_GT(then, 0);
  EXPECT_LT(then, 40);
}

TEST_F(SessionsTest, WhatCannotBeFrozenIsRefused) {
  Client client{};
  sessions_.freeze(client, *owned_, {9, owned_->sandbox.id(), true});
  ASSERT_EQ(said_.size(), 1u);
  const auto* refused = std::get_if<wire::SandboxRefused>(&said_[0]);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->seq, 9u);
  EXPECT_EQ(refused->code, Errc::kUnsupported);
  EXPECT_FALSE(owned_->sandbox.session()->frozen);
}

}  // namespace
}  // namespace glovebox::launcher
