// Which messages of a session's agent the launcher accepts, and how many. The guest may have taken
// the agent over.
#include "launcher/server/session_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
    return send_with(message, std::vector<int>(fds, STDIN_FILENO));
  }
  bool send_with(const wire::PlanMessage& message, const std::vector<int>& passed) {
    return send_message(agent_.get(), wire::encode(message), passed).has_value();
  }
  // Why a request to join with these descriptors is refused.
  std::string refusal_of(const std::vector<int>& passed) {
    EXPECT_TRUE(send_with(wire::JoinRuntime{6}, passed));
    EXPECT_EQ(read_all(), 1);
    const auto refused = refusal();
    return refused ? refused->why : "not refused";
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

// Descriptors as a runtime has them: pipes, a device and a unix socket.
struct OfARuntime {
  OfARuntime() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    pipe[0].reset(ends[0]);
    pipe[1].reset(ends[1]);
    device.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    socket.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  }
  std::vector<int> all() const {
    return {pipe[0].get(), pipe[1].get(), pipe[1].get(), pipe[1].get(), device.get(), socket.get()};
  }
  UniqueFd pipe[2], device, socket;
};

constexpr const char* kNotOfARuntime = "these are not the descriptors of a runtime";

TEST_F(SessionControlTest, TakesTheDescriptorsOfARuntimeAndNoOthers) {
  const OfARuntime good;
  EXPECT_EQ(refusal_of(good.all()), "the zygote has ended") << "they are not why it is refused";
  const UniqueFd file(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  const UniqueFd tcp(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (std::size_t i = 0; i + 1 < wire::kDescriptorsOfARuntime; ++i) {
    for (const int other : {file.get(), good.socket.get()}) {
      std::vector<int> all = good.all();
      all[i] = other;
      EXPECT_EQ(refusal_of(all), kNotOfARuntime) << i;
    }
  }
  for (const int last : {file.get(), tcp.get(), good.pipe[0].get(), good.device.get()}) {
    std::vector<int> all = good.all();
    all.back() = last;
    EXPECT_EQ(refusal_of(all), kNotOfARuntime);
  }
  std::vector<int> fewer = good.all();
  fewer.pop_back();
  EXPECT_EQ(refusal_of(fewer), kNotOfARuntime);
}

TEST_F(SessionControlTest, NothingJoinsAFrozenSession) {
  record_->sandbox.session()->frozen = true;
  EXPECT_EQ(refusal_of(OfARuntime().all()), "the session is frozen");
}

TEST_F(SessionControlTest, ReadsNothingOfASessionThatEnds) {
  ASSERT_TRUE(send(wire::JoinRuntime{5}));
  record_->sandbox.kill(EndReason::kDestroyed);
  sessions_.on_readable(*record_);
  EXPECT_FALSE(refusal());
}

TEST_F(SessionControlTest, RemembersNothingOfASessionThatIsIdle) {
  const auto now = Clock::now();
  EXPECT_FALSE(sessions_.next_check(now));
  ASSERT_TRUE(send(wire::RuntimeReady{}));
  EXPECT_EQ(read_all(), 1);
  EXPECT_TRUE(sessions_.next_check(now)) << "its bucket is not full";
  sessions_.advance(now + std::chrono::seconds(5));
  EXPECT_FALSE(sessions_.next_check(now));
  sessions_.forget(*record_);  // of which nothing is known
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

// A session whose cgroup is a directory that looks like one of cgroup v2; the test plays the
// kernel.
class FreezingSessions : public SessionControlTest {
 protected:
  FreezingSessions() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gbx-freezer-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    auto cgroup = sys::Cgroup::create(sys::CgroupRoots{.v2 = root_}, nullptr, "one", {});
    EXPECT_TRUE(cgroup && cgroup->features().freezer);
    for (const char* file : {"cgroup.freeze", "cgroup.events"}) std::ofstream(path(file)) << "";
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child_, 0)));
    Sandbox sandbox(SandboxId::make(), Limits{}, WallSet{}, std::move(*cgroup), std::move(pidfd),
                    {});
    sandbox.become_session({.setup = {},
                            .server_end = {},
                            .upper = {},
                            .template_name = "python",
                            .zygote_uid = 7,
                            .init_pid = child_});
    frozen_.emplace(SandboxRecord{std::move(sandbox), nullptr, 0, Limits{}, "python"});
  }
  ~FreezingSessions() override {
    sessions_.forget(*frozen_);
    for (const char* file : {"cgroup.freeze", "cgroup.events"}) {
      std::filesystem::remove(path(file));
    }
    frozen_.reset();
    std::filesystem::remove_all(root_);
  }

  std::string path(const char* file) const { return root_ + "/one/" + file; }
  // What the launcher has written.
  std::string wanted() const {
    std::ifstream in(path("cgroup.freeze"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void kernel_says(int frozen) {
    std::ofstream(path("cgroup.events")) << "populated 1\nfrozen " << frozen << "\n";
  }
  void freeze(std::uint32_t seq, bool frozen) {
    sessions_.freeze(client_, *frozen_, {seq, frozen_->sandbox.id(), frozen});
  }
  // "done SEQ" or "refused SEQ"; nothing without a reply.
  std::vector<std::string> replies() {
    std::vector<std::string> said;
    for (const wire::LauncherReply& reply : replies_) {
      if (const auto* done = std::get_if<wire::Done>(&reply)) {
        said.push_back("done " + std::to_string(done->seq));
      } else if (const auto* refused = std::get_if<wire::SandboxRefused>(&reply)) {
        said.push_back("refused " + std::to_string(refused->seq));
        error_ = refused->code;
      }
    }
    replies_.clear();
    return said;
  }
  bool is_frozen() const { return frozen_->sandbox.session()->frozen; }

  std::string root_;
  Client client_{};
  Errc error_{};
  std::optional<SandboxRecord> frozen_;
};

using Said = std::vector<std::string>;

TEST_F(FreezingSessions, AnswersWhenTheKernelHasFrozenAllProcesses) {
  kernel_says(0);
  const auto begun = Clock::now();
  freeze(1, true);
  EXPECT_EQ(wanted(), "1");
  EXPECT_EQ(replies(), Said{});
  EXPECT_FALSE(is_frozen());
  EXPECT_LE(sessions_.next_check(begun).value(), begun + std::chrono::milliseconds(2));
  sessions_.advance(begun + std::chrono::seconds(1));
  EXPECT_EQ(replies(), Said{});
  kernel_says(1);
  sessions_.advance(begun + std::chrono::seconds(1));
  EXPECT_EQ(replies(), Said{"done 1"});
  EXPECT_TRUE(is_frozen());
  freeze(2, true);
  EXPECT_EQ(replies(), Said{"done 2"}) << "it is already";
  freeze(3, false);
  EXPECT_EQ(replies(), Said{"done 3"});
  EXPECT_EQ(wanted(), "0");
  EXPECT_FALSE(is_frozen());
  freeze(4, false);
  EXPECT_EQ(replies(), Said{"done 4"});
}

TEST_F(FreezingSessions, WhatDoesNotFreezeInTimeIsThawed) {
  kernel_says(0);
  const auto before = Clock::now();
  freeze(1, true);
  const auto after = Clock::now();
  sessions_.advance(before + std::chrono::milliseconds(4'999));
  EXPECT_EQ(replies(), Said{});
  sessions_.advance(after + std::chrono::seconds(5));
  EXPECT_EQ(replies(), Said{"refused 1"});
  EXPECT_EQ(error_, Errc::kTimeout);
  EXPECT_EQ(wanted(), "0");
  EXPECT_FALSE(is_frozen());
}

TEST_F(FreezingSessions, OneRequestIsServedAtATime) {
  kernel_says(0);
  freeze(1, true);
  for (const bool frozen : {true, false}) {
    freeze(2, frozen);
    EXPECT_EQ(replies(), Said{"refused 2"});
    EXPECT_EQ(error_, Errc::kConflict);
  }
  kernel_says(1);
  sessions_.advance(Clock::now());
  EXPECT_EQ(replies(), Said{"done 1"});
}

TEST_F(FreezingSessions, AClientThatLeftGetsNoReply) {
  kernel_says(0);
  freeze(1, true);
  sessions_.forget(Client{});  // another one
  sessions_.forget(client_);
  kernel_says(1);
  sessions_.advance(Clock::now());
  EXPECT_EQ(replies(), Said{});
  EXPECT_TRUE(is_frozen());
}

TEST_F(FreezingSessions, ASessionThatEndsMeanwhileIsNotFound) {
  kernel_says(0);
  freeze(1, true);
  sessions_.forget(*frozen_);
  EXPECT_EQ(replies(), Said{"refused 1"});
  EXPECT_EQ(error_, Errc::kNotFound);
  EXPECT_FALSE(sessions_.next_check(Clock::now()));
}

TEST_F(FreezingSessions, IsMeasuredByItsCgroup) {
  const wire::SandboxMeasured measured = sessions_.measure(*frozen_, 9);
  EXPECT_EQ(measured.seq, 9u);
  EXPECT_FALSE(measured.memory_bytes) << "no controller counts it";
  EXPECT_EQ(measured.oom_kills, 0u);
}

TEST(LauncherClient, IsThereAndReadUntilItSaysOtherwise) {
  const Client client{};
  EXPECT_FALSE(client.gone);
  EXPECT_FALSE(client.is_blocked);
}

}  // namespace
}  // namespace glovebox::launcher
