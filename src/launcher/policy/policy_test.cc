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
          "sandboxes = 3\n[uids]\nfirst = 655360\nlast = 1310719\n[mounts]\nallow = true\n"
          "allow_writable = false\nsources = ['/srv/data']\nuid = 1234\n[engines]\nprocess = "
          "false\n[templates]\nof_projects = false\n",
          "p")
          .value();
  EXPECT_EQ(policy.max_memory_bytes, 1ull << 30);
  EXPECT_EQ(policy.max_wall, std::chrono::hours(1));
  EXPECT_EQ(policy.max_sandboxes, 3u);
  EXPECT_EQ(policy.mount_sources, std::vector<std::string>{"/srv/data"});
  EXPECT_FALSE(policy.allow_writable_mounts);
  EXPECT_FALSE(policy.allow_process_engine);
  EXPECT_FALSE(policy.templates_of_projects);
  EXPECT_TRUE(Policy{}.templates_of_projects);
}

TEST(Policy, AnUnknownKeyOrWrongTypeIsAnErrorWithItsName) {
  for (const char* text :
       {"[limits]\nmemroy = '1G'\n", "[limits]\nmemory = 5\n", "x = 1\n",
        "[mounts]\nsources = 'a'\n", "[mounts]\nsources = ['data']\n", "[limits\n", "[)", "[a.)",
        "[engines]\njail = false\n", "[limits]\npids = -1\n", "[templates]\nof_projects = 1\n",
        "[templates]\nallow = true\n"}) {
    const auto policy = parse_policy(text, "/etc/glovebox/policy.toml");
    ASSERT_FALSE(policy) << text;
    EXPECT_NE(policy.error().message().find("/etc/glovebox/policy.toml"), std::string::npos);
  }
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
  ::chmod(path, 0666);
  EXPECT_FALSE(load_policy(path));
  ::unlink(path);
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

TEST(Policy, RefusesALimitAboveItsCeilingAndNamesIt) {
  Policy policy;
  policy.max_pids = 10;
  Limits limits;
  limits.pids = 11;
  const auto checked = check_limits(policy, limits);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message().find("process limit"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::launcher
