#include "launcher/policy/policy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace glovebox::launcher {
namespace {

TEST(Policy, AMissingFileMeansTheCompiledInValues) {
  const Policy policy = load_policy("/nonexistent/policy.toml").value();
  EXPECT_EQ(policy.uid_first, 1879048192u);
  EXPECT_TRUE(policy.allow_mounts);
}

TEST(Policy, ReadsEverySection) {
  const Policy policy =
      parse_policy(
          "[limits]\nmemory = '1G'\ndisk = '2G'\nwall = '1h'\npids = 10\ncpu_thousandths = 500\n"
          "sandboxes = 3\n[host]\nmemory = '6G'\npids = 5000\nproject_percent = 50\nraise_limits = "
          "true\n[uids]\nfirst "
          "= 655360\nlast = 1310719\n[mounts]\nallow = true\n"
          "allow_writable = false\nsources = ['/srv/data']\nuid = 1234\n[engines]\nprocess = "
          "false\n[templates]\nof_projects = false\n",
          "p")
          .value();
  EXPECT_EQ(policy.max_memory_bytes, 1ull << 30);
  EXPECT_EQ(policy.max_wall, std::chrono::hours(1));
  EXPECT_EQ(policy.max_sandboxes, 3u);
  EXPECT_EQ(policy.host_memory_bytes, 6ull << 30);
  EXPECT_EQ(policy.host_pids, 5000u);
  EXPECT_EQ(policy.project_percent, 50u);
  EXPECT_EQ(policy.mount_sources, std::vector<std::string>{"/srv/data"});
  EXPECT_FALSE(policy.allow_writable_mounts);
  EXPECT_FALSE(policy.allow_process_engine);
  EXPECT_FALSE(policy.templates_of_projects);
  EXPECT_TRUE(Policy{}.templates_of_projects);
  EXPECT_TRUE(policy.raise_host_limits);
  EXPECT_FALSE(Policy{}.raise_host_limits) << "the host is the administrator's";
}

TEST(Policy, AnUnknownKeyOrWrongTypeIsAnErrorWithItsName) {
  for (const char* text : {"[limits]\nmemroy = '1G'\n",
                           "[limits]\nmemory = 5\n",
                           "x = 1\n",
                           "[mounts]\nsources = 'a'\n",
                           "[mounts]\nsources = ['data']\n",
                           "[limits\n",
                           "[)",
                           "[a.)",
                           "[engines]\njail = false\n",
                           "[limits]\npids = -1\n",
                           "[templates]\nof_projects = 1\n",
                           "[templates]\nallow = true\n",
                           "[host]\nraise = true\n",
                           "[host]\nproject_percent = 0\n",
                           "[host]\nproject_percent = 101\n",
                           "[host]\nmemory = 5\n",
                           "[host]\ncpus = 5\n",
                           "[limits]\nwall = 5\n",
                           "[limits]\npids = 1.5\n",
                           "[limits]\npids = '1'\n",
                           "limits = 1\n",
                           "[uids]\nfirst = 'a'\n",
                           "[uids]\nmiddle = 1\n",
                           "[engines]\nprocess = 1\n",
                           "[mounts]\nuid = 'root'\n",
                           "[mounts]\nallow = 'yes'\n",
                           "[mounts]\nsources = ['']\n",
                           "[mounts]\nsources = [1]\n",
                           "[mounts]\nplaces = []\n",
                           "[mounts.a]\npath = '/x'\nmode = 'wr'\n",
                           "[mounts.a]\npath = '/x'\nsize = 1\n",
                           "[mounts.a]\npath = 'x'\n",
                           "[mounts.a]\npath = ''\n",
                           "[mounts.a]\nmode = 'ro'\n",
                           "[mounts.a]\npath = '/x'\nprojects = 'p'\n"}) {
    const auto policy = parse_policy(text, "/etc/glovebox/policy.toml");
    ASSERT_FALSE(policy) << text;
    EXPECT_NE(policy.error().message().find("/etc/glovebox/policy.toml"), std::string::npos);
  }
}

TEST(Policy, ASandboxGetsAtMost1024ProcessesUnlessTheAdministratorSaysOtherwise) {
  Limits limits;
  limits.pids = 1024;
  EXPECT_TRUE(check_limits(Policy{}, limits));
  limits.pids = 1025;
  EXPECT_FALSE(check_limits(Policy{}, limits));
}

TEST(Policy, RefusesNonAsciiText) {
  EXPECT_FALSE(parse_policy(std::string("\xef\xbb\xbe\0", 4), "p"));
  EXPECT_FALSE(parse_policy("\xff", "p"));
  EXPECT_FALSE(parse_policy(std::string("a\0b", 3), "p"));
}

TEST(Policy, NeverHandsOutTheHostsOwnUsers) {
  EXPECT_FALSE(parse_policy("[uids]\nfirst = 0\n", "p"));
  EXPECT_FALSE(parse_policy("[uids]\nfirst = 65537\n", "p"));
  EXPECT_FALSE(parse_policy("[uids]\nfirst = 2147287040\n", "p"));
}

TEST(Policy, AFileThatOthersMayWriteIsRefused) {
  char path[] = "/tmp/gbx-policy-XXXXXX";
  ::close(::mkstemp(path));
  for (const mode_t mode : {0666, 0620, 0664, 0602, 0622, 0660}) {
    ASSERT_EQ(::chmod(path, mode), 0);
    const auto policy = load_policy(path);
    ASSERT_FALSE(policy) << std::oct << mode;
    EXPECT_EQ(policy.error().code(), Errc::kPolicy) << std::oct << mode;
  }
  if (::geteuid() == 0) {
    for (const mode_t mode : {0600, 0644, 0640, 0755}) {
      ASSERT_EQ(::chmod(path, mode), 0);
      EXPECT_TRUE(load_policy(path)) << std::oct << mode;
    }
  }
  ::unlink(path);
}

TEST(Policy, AFileOfAnotherOwnerThanRootIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  char path[] = "/tmp/gbx-policy-XXXXXX";
  ::close(::mkstemp(path));
  ASSERT_EQ(::chmod(path, 0644), 0);
  ASSERT_TRUE(load_policy(path)) << "the same file, while it is root's";
  for (const uid_t owner : {1u, 1000u, 65534u}) {
    ASSERT_EQ(::chown(path, owner, 0), 0);
    const auto policy = load_policy(path);
    ASSERT_FALSE(policy) << owner;
    EXPECT_EQ(policy.error().code(), Errc::kPolicy) << owner;
  }
  ::unlink(path);
}

TEST(Policy, ALinkOrADirectoryIsNoPolicy) {
  char dir[] = "/tmp/gbx-policy-XXXXXX";
  ASSERT_NE(::mkdtemp(dir), nullptr);
  const std::string link = std::string(dir) + "/policy.toml";
  ASSERT_EQ(::symlink("/dev/null", link.c_str()), 0);
  EXPECT_FALSE(load_policy(link));
  EXPECT_FALSE(load_policy(dir));
  ::unlink(link.c_str());
  ::rmdir(dir);
}

TEST(Policy, ADefaultIsLoweredToItsCeilingAndARequestedLimitIsNot) {
  Policy policy;
  policy.max_memory_bytes = 128u << 20;
  Limits limits;
  EXPECT_EQ(within_ceilings(policy, limits).memory_bytes, policy.max_memory_bytes);
  limits.mark_asked_for(LimitKind::kMemory);
  EXPECT_EQ(within_ceilings(policy, limits), limits);
}

TEST(Policy, NoListedMountIsInsideOneThatGuestsMayWrite) {
  const std::string outer = "[mounts.a]\npath = '/srv/a'\nmode = 'rw'\n";
  const auto with = [&outer](const std::string& path) {
    return parse_policy(outer + "[mounts.b]\npath = '" + path + "'\n", "p");
  };
  EXPECT_TRUE(with("/srv/b"));
  EXPECT_TRUE(with("/srv/a-beside"));
  EXPECT_TRUE(with("/srv"));
  EXPECT_TRUE(with("/srv/a"));
  EXPECT_FALSE(with("/srv/a/b"));
}

TEST(Policy, AListedMountIsReadOnlyAndForAllUnlessItSaysOtherwise) {
  const Policy policy = parse_policy(
                            "[mounts.data]\npath = '/srv/data'\n[mounts.both]\npath = '/srv/b'\n"
                            "mode = 'rw'\nprojects = ['one', 'two']\n[mounts.ro]\npath = '/r'\n"
                            "mode = 'ro'\n",
                            "p")
                            .value();
  ASSERT_EQ(policy.named_mounts.size(), 3u);
  EXPECT_EQ(policy.named_mounts.at("data"), (NamedMount{"/srv/data", false, {}}));
  EXPECT_EQ(policy.named_mounts.at("both"), (NamedMount{"/srv/b", true, {"one", "two"}}));
  EXPECT_EQ(policy.named_mounts.at("ro"), (NamedMount{"/r", false, {}}));
  // A guest cannot rename what is above an entry that it may only read.
  EXPECT_TRUE(parse_policy("[mounts.a]\npath = '/a'\n[mounts.b]\npath = '/a/b'\n", "p"));
}

TEST(Policy, EachDefaultIsLoweredToItsCeiling) {
  Policy policy;
  policy.max_memory_bytes = policy.max_disk_bytes = 16u << 20;
  policy.max_pids = 3;
  policy.max_cpu_thousandths = 10;
  policy.max_wall = std::chrono::milliseconds(5);
  Limits large;
  large.memory_bytes = large.disk_bytes = 1u << 30;
  large.pids = 100;
  large.cpu_thousandths = 1000;
  large.wall = std::chrono::milliseconds(100);
  const Limits lowered = within_ceilings(policy, large);
  EXPECT_EQ(lowered.memory_bytes, 16u << 20);
  EXPECT_EQ(lowered.disk_bytes, 16u << 20);
  EXPECT_EQ(lowered.pids, 3u);
  EXPECT_EQ(lowered.cpu_thousandths, 10u);
  EXPECT_EQ(lowered.wall, std::chrono::milliseconds(5));
  EXPECT_EQ(within_ceilings(policy, lowered), lowered) << "and none is raised";
  for (const LimitKind kind : {LimitKind::kMemory, LimitKind::kDisk, LimitKind::kPids,
                               LimitKind::kCpus, LimitKind::kWall}) {
    large.mark_asked_for(kind);
  }
  EXPECT_EQ(within_ceilings(policy, large), large);
}

TEST(Policy, RefusesALimitAboveItsCeilingAndNamesIt) {
  Policy policy;
  policy.max_pids = 10;
  Limits limits;
  limits.pids = 11;
  const auto checked = check_limits(policy, limits);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("process limit"), std::string::npos);
}

TEST(Policy, ALimitMayBeAsHighAsItsCeilingAndNoHigher) {
  Policy policy;
  Limits most;
  most.memory_bytes = policy.max_memory_bytes;
  most.disk_bytes = policy.max_disk_bytes;
  most.disk_inodes = 16u << 20;
  most.pids = policy.max_pids;
  most.cpu_thousandths = policy.max_cpu_thousandths;
  most.wall = policy.max_wall;
  EXPECT_TRUE(check_limits(policy, most));
  const auto says = [&](const auto& change) {
    Limits limits = most;
    change(limits);
    const auto checked = check_limits(policy, limits);
    return checked ? std::string("good") : checked.error().message();
  };
  const auto exceeds = [](const char* what) {
    return std::string(what) + " limit exceeds the ceiling in the launcher's policy";
  };
  EXPECT_EQ(says([](Limits& limits) { ++limits.memory_bytes; }), exceeds("the memory"));
  EXPECT_EQ(says([](Limits& limits) { ++limits.disk_bytes; }), exceeds("the disk"));
  EXPECT_EQ(says([](Limits& limits) { ++limits.disk_inodes; }), exceeds("the inode"));
  EXPECT_EQ(says([](Limits& limits) { ++limits.pids; }), exceeds("the process"));
  EXPECT_EQ(says([](Limits& limits) { ++limits.cpu_thousandths; }), exceeds("the CPU"));
  EXPECT_EQ(says([](Limits& limits) { ++limits.wall; }), exceeds("the time"));
}

TEST(Policy, ALimitMayBeAsLowAsASandboxNeeds) {
  const Policy policy;
  Limits least;
  least.memory_bytes = 8u << 20;
  least.disk_bytes = 1u << 20;
  least.pids = 2;
  EXPECT_TRUE(check_limits(policy, least));
  Limits less = least;
  --less.memory_bytes;
  EXPECT_FALSE(check_limits(policy, less));
  less = least;
  --less.disk_bytes;
  EXPECT_FALSE(check_limits(policy, less));
  less = least;
  --less.pids;
  EXPECT_FALSE(check_limits(policy, less));
}

TEST(Policy, NumbersAreTakenUpToTheirBounds) {
  EXPECT_EQ(parse_policy("[limits]\npids = 4294967295\n", "p")->max_pids, UINT32_MAX);
  EXPECT_EQ(parse_policy("[limits]\npids = 0\n", "p")->max_pids, 0u);
  EXPECT_FALSE(parse_policy("[limits]\npids = 4294967296\n", "p"));
  EXPECT_EQ(parse_policy("[host]\nproject_percent = 1\n", "p")->project_percent, 1u);
  EXPECT_EQ(parse_policy("[host]\nproject_percent = 100\n", "p")->project_percent, 100u);
  const auto uids = [](std::uint32_t first, std::uint32_t last) {
    return parse_policy("[uids]\nfirst = " + std::to_string(first) +
                            "\nlast = " + std::to_string(last) + "\n",
                        "p")
        .has_value();
  };
  // Four slices just fit.
  EXPECT_TRUE(uids(65536, 65536 + 4 * 65536 - 1));
  EXPECT_FALSE(uids(65536, 65536 + 4 * 65536 - 2));
  EXPECT_FALSE(uids(0, 65536 + 4 * 65536 - 1));
  EXPECT_FALSE(uids(655360, 655359));
}

TEST(Policy, ATextHasPrintableAsciiAndEndsOfLines) {
  EXPECT_TRUE(parse_policy("# ~ \t\r\n", "p"));
  for (const char* text : {"#\x1f", "#\x7f", "#\x80", "#\x01"}) {
    EXPECT_FALSE(parse_policy(text, "p")) << text;
  }
}

TEST(Policy, WhatAFileDoesNotSayIsAsCompiledIn) {
  const Policy policy;
  EXPECT_TRUE(policy.allow_mounts);
  EXPECT_TRUE(policy.allow_writable_mounts);
  EXPECT_TRUE(policy.allow_process_engine);
  EXPECT_FALSE(policy.mounts_by_path) << "clients name an entry, and no path of the host";
  EXPECT_FALSE(NamedMount{}.writable);
}

}  // namespace
}  // namespace glovebox::launcher
