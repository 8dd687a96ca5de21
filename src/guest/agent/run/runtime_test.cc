#include "guest/agent/run/runtime.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "base/fd_message.h"

namespace glovebox::agent {
namespace {

const std::string kSealed =
    "Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t3\nPid:\t3\nPPid:\t1\n"
    "TracerPid:\t0\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nFDSize:\t64\n"
    "Groups:\t \nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
    "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
    "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";

std::string with(const std::string& from, const std::string& to) {
  std::string status = kSealed;
  status.replace(status.find(from), from.size(), to);
  return status;
}

TEST(CheckSealed, TakesARuntimeThatIsSealedAsAGuestIs) {
  EXPECT_TRUE(check_sealed(kSealed, true, 3));
}

TEST(CheckSealed, RefusesARuntimeThatKeptAnything) {
  const std::pair<const char*, const char*> kept[] = {
      {"CapEff:\t0000000000000000", "CapEff:\t0000000000000001"},
      {"CapPrm:\t0000000000000000", "CapPrm:\t0000000000200000"},
      {"CapInh:\t0000000000000000", "CapInh:\t0000000000000001"},
      {"CapAmb:\t0000000000000000", "CapAmb:\t0000000000000001"},
      {"NoNewPrivs:\t1", "NoNewPrivs:\t0"},
      {"Seccomp:\t2", "Seccomp:\t0"},
      {"Seccomp_filters:\t3", "Seccomp_filters:\t2"},
      {"Uid:\t1000\t1000\t1000\t1000", "Uid:\t1000\t1000\t0\t1000"},
      {"Gid:\t1000\t1000\t1000\t1000", "Gid:\t0\t1000\t1000\t1000"},
      {"Groups:\t ", "Groups:\t0 "},
      {"TracerPid:\t0", "TracerPid:\t7"},
      {"PPid:\t1", "PPid:\t0"},
  };
  for (const auto& [from, to] : kept) EXPECT_FALSE(check_sealed(with(from, to), true, 3)) << to;
}

TEST(CheckSealed, InASessionItMayBecomeRootInsideAndNoMore) {
  const auto check = [](std::string bounding) {
    std::string status = with("NoNewPrivs:\t1", "NoNewPrivs:\t0");
    const std::string none = "CapBnd:\t0000000000000000";
    status.replace(status.find(none), none.size(), "CapBnd:\t" + bounding);
    return check_sealed(status, true, 3, SealOf::kSession).has_value();
  };
  EXPECT_TRUE(check("00000000a00405fb"));
  EXPECT_TRUE(check("0000000000000000"));
  EXPECT_FALSE(check("00000000a02405fb"));  // with SYS_ADMIN
  EXPECT_FALSE(check("00000000a00c05fb"));  // with SYS_PTRACE
  EXPECT_FALSE(check("000001ffffffffff"));
  EXPECT_FALSE(check(""));
  EXPECT_FALSE(check("x"));
  EXPECT_TRUE(check_sealed(kSealed, true, 3, SealOf::kSession));
  EXPECT_FALSE(check_sealed(with("CapEff:\t0000000000000000", "CapEff:\t0000000000000001"), true, 3,
                            SealOf::kSession));
}

TEST(CheckSealed, WhatALineMustSayDependsOnTheRuntime) {
  EXPECT_TRUE(check_sealed(kSealed, true, 2)) << "more filters than it must have";
  // Kernels before 5.10 do not count them.
  EXPECT_TRUE(check_sealed(with("Seccomp_filters:\t3\n", ""), true, 3));
  // Where its user is not changed, the groups are those of the user who started the server.
  EXPECT_TRUE(check_sealed(with("Groups:\t ", "Groups:\t27 "), false, 3));
  EXPECT_TRUE(check_sealed(with("Groups:\t ", "Groups:\t"), true, 3));
}

TEST(CheckSealed, ALineIsFoundByItsWholeName) {
  // What a guest calls itself does not stand for a line.
  EXPECT_FALSE(check_sealed(with("TracerPid:\t0", "TracerPid:\t7\nXTracerPid:\t0"), true, 3));
  EXPECT_FALSE(check_sealed(with("Seccomp:\t2", "Seccomp_x:\t2"), true, 3));
  EXPECT_TRUE(check_sealed(with("Name:\tpython3", "Name:\tCapEff:\t1"), true, 3));
}

TEST(AwaitReady, ARuntimeThatDiedIsNone) {
  SocketPair pair = seqpacket_pair().value();
  Runtime runtime;
  runtime.socket = std::move(pair.ours);
  pair.theirs.reset();
  const auto ready = await_ready(runtime, false);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code(), Errc::kUnavailable);
}

TEST(AwaitReady, AnotherProcessIsNoRuntime) {
  SocketPair pair = seqpacket_pair().value();
  const int on = 1;
  ASSERT_EQ(::setsockopt(pair.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
  Runtime runtime;
  runtime.socket = std::move(pair.ours);
  // This test: neither alone nor sealed.
  ASSERT_EQ(::send(pair.theirs.get(), "r", 1, 0), 1);
  const auto ready = await_ready(runtime, false);
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code(), Errc::kPolicy);
  EXPECT_EQ(runtime.pid, ::getpid());
}

TEST(CheckSealed, AMissingLineIsNotAPass) { EXPECT_FALSE(check_sealed("Name:\tx\n", true, 2)); }

TEST(RuntimeDescriptors, AreConnectedInTheirOrder) {
  const auto made = make_runtime_descriptors(false);
  ASSERT_TRUE(made) << made.error().message();
  const auto& theirs = made->theirs;
  const auto& ours = made->ours;
  ASSERT_EQ(theirs.size(), 6u);
  ASSERT_EQ(ours.client_ends.size(), 4u);
  const auto carries = [](const UniqueFd& from, const UniqueFd& to) {
    char byte = 0;
    return ::write(from.get(), "x", 1) == 1 && ::read(to.get(), &byte, 1) == 1 && byte == 'x';
  };
  EXPECT_TRUE(carries(ours.client_ends[0], theirs[0]));  // stdin
  for (const std::size_t out : {1, 2, 3}) {
    EXPECT_TRUE(carries(theirs[out], ours.client_ends[out])) << out;
  }
  EXPECT_EQ(::pwrite(ours.job.get(), "j", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::pread(theirs[4].get(), &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'j');
  EXPECT_TRUE(carries(theirs[5], ours.socket));
  for (const UniqueFd& fd : theirs) EXPECT_GE(fd.get(), kFirstFreeFd);
}

}  // namespace
}  // namespace glovebox::agent
