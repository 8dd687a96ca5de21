// Which messages of a session's agent the launcher accepts, and how many. The guest may have taken
// the agent over.
#include "launcher/server/session_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd_message.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::launcher {
namespace {

class SessionControlTest : public ::testing::Test {
 protected:
  SessionControlTest()
      : child_(start_child()),
        watch_(SandboxWatch::open().value()),
        sessions_(nurseries_, watch_, [this](Client&, const wire::LauncherReply& reply) {
          replies_.push_back(reply);
        }) {
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
    record_.emplace(SandboxRecord{std::move(sandbox), nullptr, 0, Limits{}, "python"});
    EXPECT_TRUE(watch_.add(*record_));
  }
  ~SessionControlTest() override {
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

  bool send(const wire::PlanMessage& message, std::size_t fds = 0) {
    const std::vector<int> passed(fds, STDIN_FILENO);
    return send_message(agent_.get(), wire::encode(message), passed).has_value();
  }
  // Reads until nothing is reported any more; returns how often something was.
  int read_all() {
    int count = 0;
    while (true) {
      const SandboxWatch::Events events = watch_.take();
      if (events.readable.empty()) return count;
      for (SandboxRecord* record : events.readable) {
        sessions_.on_readable(*record);
        ++count;
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
  TemplateNurseries nurseries_{{}, {}};
  SandboxWatch watch_;
  std::vector<wire::LauncherReply> replies_;
  SessionControl sessions_;
  UniqueFd agent_;
  std::optional<SandboxRecord> record_;
};

TEST_F(SessionControlTest, RefusesAJoinWithoutTheZygote) {
  ASSERT_TRUE(send(wire::JoinRuntime{5}, wire::kDescriptorsOfARuntime));
  EXPECT_EQ(read_all(), 1);
  const auto refused = refusal();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->ticket, 5u);
  EXPECT_FALSE(record_->sandbox.is_ending());
}

TEST_F(SessionControlTest, RefusesAJoinWithOtherDescriptors) {
  for (const std::size_t count : {std::size_t{0}, wire::kDescriptorsOfARuntime - 1}) {
    ASSERT_TRUE(send(wire::JoinRuntime{6}, count));
    EXPECT_EQ(read_all(), 1);
    EXPECT_TRUE(refusal()) << count;
  }
}

TEST_F(SessionControlTest, EndsASessionWhoseAgentSendsAnUnexpectedMessage) {
  ASSERT_TRUE(send(wire::SandboxHello{}));
  read_all();
  EXPECT_TRUE(record_->sandbox.is_ending());
}

TEST_F(SessionControlTest, EndsASessionWhoseAgentSendsTooManyDescriptors) {
  ASSERT_TRUE(send(wire::JoinRuntime{6}, wire::kDescriptorsOfARuntime + 1));
  read_all();
  EXPECT_TRUE(record_->sandbox.is_ending());
}

TEST_F(SessionControlTest, EndsASessionWhoseAgentSendsGarbage) {
  const std::byte garbage[] = {std::byte{1}, std::byte{2}};
  ASSERT_TRUE(send_message(agent_.get(), garbage));
  read_all();
  EXPECT_TRUE(record_->sandbox.is_ending());
}

TEST_F(SessionControlTest, DoesNotReadFromAnAgentThatHungUp) {
  agent_.reset();
  EXPECT_EQ(read_all(), 1);
  EXPECT_EQ(read_all(), 0);
}

TEST_F(SessionControlTest, ReadsABoundedNumberOfMessagesOfAFlood) {
  while (send(wire::RuntimeReady{})) {
  }
  const int first = read_all();
  EXPECT_GT(first, 10);
  EXPECT_LT(first, 100);
  EXPECT_EQ(read_all(), 0);  // no token is left
  const auto now = Clock::now();
  EXPECT_TRUE(sessions_.next_check(now));
  sessions_.advance(now + std::chrono::seconds(1));
  const int then = read_all();
  EXPECT_GT(then, 0);
  EXPECT_LT(then, 40);
}

TEST_F(SessionControlTest, RefusesToFreezeWhatCannotBeFrozen) {
  Client client{};
  sessions_.freeze(client, *record_, {9, record_->sandbox.id(), true});
  ASSERT_EQ(replies_.size(), 1u);
  const auto* refused = std::get_if<wire::SandboxRefused>(&replies_[0]);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->seq, 9u);
  EXPECT_EQ(refused->code, Errc::kUnsupported);
  EXPECT_FALSE(record_->sandbox.session()->frozen);
}

}  // namespace
}  // namespace glovebox::launcher
