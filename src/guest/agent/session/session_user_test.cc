// The guest writes passwd and group: whatever is in them, a user is a number of the sandbox's own.
#include "guest/agent/session/session_user.h"

#include <gtest/gtest.h>
#include <pwd.h>

namespace glovebox::agent {
namespace {

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/bash\n"
    "daemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n"
    "\n"
    "user:x:1000:1000:,,,:/home/user:/bin/bash\n"
    "noshell:x:7:8::/n\n"
    "short:x:9\n"
    "odd:x:-1:0::/:/bin/sh\n"
    "large:x:4294967296:0::/:/bin/sh\n"
    "outside:x:70000:0::/:/bin/sh\n";
constexpr std::string_view kGroup =
    "root:x:0:\n"
    "sudo:x:27:user,other\n"
    "user:x:1000:user\n"
    "docker:x:44:other,user\n"
    "again:x:44:user\n"
    "superuser:x:45:xuser\n";

TEST(SessionUser, IsFoundByNameAndByNumber) {
  for (const char* wanted : {"user", "1000"}) {
    const auto user = find_user(kPasswd, kGroup, wanted);
    ASSERT_TRUE(user) << wanted;
    EXPECT_EQ(user->name, "user");
    EXPECT_EQ(user->uid, 1000u);
    EXPECT_EQ(user->gid, 1000u);
    EXPECT_EQ(user->home, "/home/user");
    EXPECT_EQ(user->shell, "/bin/bash");
    EXPECT_EQ(user->groups, (std::vector<gid_t>{27, 44}));
  }
  EXPECT_EQ(find_user(kPasswd, kGroup, "noshell")->shell, "");
}

TEST(SessionUser, AGroupBehindAColonIsTheOnlyOne) {
  for (const char* wanted : {"user:docker", "1000:44", "user:44", "1000:docker"}) {
    const auto user = find_user(kPasswd, kGroup, wanted);
    ASSERT_TRUE(user) << wanted;
    EXPECT_EQ(user->uid, 1000u);
    EXPECT_EQ(user->gid, 44u);
    EXPECT_TRUE(user->groups.empty()) << wanted;
  }
  EXPECT_EQ(find_user("", "", "7:8")->gid, 8u);
  for (const char* wanted : {"user:", "user:nothing", ":docker", "nothing:docker", "user:70000"}) {
    EXPECT_FALSE(find_user(kPasswd, kGroup, wanted)) << wanted;
  }
}

TEST(SessionUser, ANumberNeedsNoEntryANameDoes) {
  const auto user = find_user(kPasswd, kGroup, "1234");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 1234u);
  EXPECT_EQ(user->gid, 1234u);
  EXPECT_EQ(user->home, "/");
  EXPECT_FALSE(find_user(kPasswd, kGroup, "nobody"));
  EXPECT_FALSE(find_user(kPasswd, kGroup, ""));
  EXPECT_FALSE(find_user(kPasswd, kGroup, "99999999999"));
  EXPECT_FALSE(find_user(kPasswd, kGroup, "65535"));
  EXPECT_FALSE(find_user(kPasswd, kGroup, "-1"));
  EXPECT_FALSE(find_user(kPasswd, kGroup, "0x0"));
}

TEST(SessionUser, TheLastUidOfTheSliceIsNobodys) {
  const auto by_number = find_user("", "", "65534");
  ASSERT_TRUE(by_number);
  EXPECT_EQ(by_number->uid, 65534u);
  EXPECT_EQ(by_number->gid, 65534u);
  const auto by_name =
      find_user("nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", "", "nobody");
  ASSERT_TRUE(by_name);
  EXPECT_EQ(by_name->uid, 65534u);
  // The kernel takes 65535 of the old 16-bit calls for "no uid".
  EXPECT_FALSE(find_user("", "", "65535"));
  EXPECT_FALSE(find_user("last:x:65535:0::/:/bin/sh\n", "", "last"));
  EXPECT_FALSE(find_user("last:x:0:65535::/:/bin/sh\n", "", "last"));
  const auto groups = find_user("a:x:5:5::/:\n", "x:x:65534:a\ny:x:65535:a\n", "a");
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->groups, std::vector<gid_t>{65534});
}

TEST(SessionUser, BrokenEntriesAreNone) {
  for (const char* wanted : {"short", "odd", "large", "outside"}) {
    EXPECT_FALSE(find_user(kPasswd, kGroup, wanted)) << wanted;
  }
}

TEST(SessionUser, RootAndUserAreThereWithoutAPasswd) {
  EXPECT_EQ(find_user("", "", "root")->uid, 0u);
  EXPECT_EQ(find_user("", "", "user")->uid, 1000u);
  EXPECT_EQ(find_user(std::string(1'000'000, ':'), "", "user")->home, "/home/user");
}

TEST(SessionUser, BoundsHold) {
  std::string group;
  for (int i = 0; i < 1000; ++i) group += "g:x:" + std::to_string(i + 1) + ":user\n";
  EXPECT_EQ(find_user(kPasswd, group, "user")->groups.size(), kMaxGroups);
  // What is beyond the bound of the file is not there.
  EXPECT_FALSE(find_user(std::string(kMaxUserFile, '\n') + "late:x:5:5::/:\n", "", "late"));
  // A home that is no path, or longer than any.
  EXPECT_EQ(find_user("a:x:5:5::relative:/bin/sh\n", "", "a")->home, "/");
  EXPECT_FALSE(find_user("a:x:5:5::/" + std::string(5000, 'h') + ":/bin/sh\n", "", "a"));
  EXPECT_FALSE(find_user(std::string("a:x:5:5::/\0x:/bin/sh\n", 21), "", "a"));
}

TEST(SessionUser, FieldsHaveAtMost1024Bytes) {
  const std::string longest(1024, 'n');
  EXPECT_TRUE(find_user(longest + ":x:5:5::/:/bin/sh\n", "", longest));
  EXPECT_FALSE(find_user(longest + "n:x:5:5::/:/bin/sh\n", "", longest + "n"));
  EXPECT_EQ(find_user("a:x:5:5::/" + longest.substr(1) + ":s\n", "", "a")->home.size(), 1024u);
  EXPECT_FALSE(find_user("a:x:5:5::/" + longest + ":s\n", "", "a"));
  EXPECT_EQ(find_user("a:x:5:5::/:" + longest + "\n", "", "a")->shell.size(), 1024u);
  EXPECT_FALSE(find_user("a:x:5:5::/:" + longest + "s\n", "", "a"));
}

TEST(SessionUser, SixFieldsAreEnoughForAUserAndFourForAGroup) {
  const auto user =
      find_user("five:x:1:1:\nfive:x:5:6:gecos:/home/five\n", "a:x:7\nb:x:8:five", "five");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 5u);
  EXPECT_EQ(user->gid, 6u);
  EXPECT_EQ(user->home, "/home/five");
  EXPECT_EQ(user->shell, "");
  EXPECT_EQ(user->groups, std::vector<gid_t>{8});
  EXPECT_FALSE(find_user(":x:5:6::/:/bin/sh\n", "", ""));  // no name
}

TEST(SessionUser, HasAtMostSoManyGroups) {
  const auto count = [](std::size_t groups) {
    std::string group;
    for (std::size_t i = 0; i < groups; ++i) group += "g:x:" + std::to_string(i + 1) + ":user\n";
    return find_user(kPasswd, group, "user")->groups.size();
  };
  EXPECT_EQ(count(kMaxGroups - 1), kMaxGroups - 1);
  EXPECT_EQ(count(kMaxGroups), kMaxGroups);
  EXPECT_EQ(count(kMaxGroups + 1), kMaxGroups);
}

TEST(SessionUser, IsLookedUpInTheFilesOfTheSandbox) {
  // Here those of this machine: what the C library finds there is found.
  const passwd* const known = ::getpwnam("daemon");
  ASSERT_NE(known, nullptr);
  const auto user = look_up_user("daemon");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, known->pw_uid);
  EXPECT_EQ(user->home, known->pw_dir);
  EXPECT_EQ(user->shell, known->pw_shell);
  EXPECT_FALSE(look_up_user("no-such-user-here"));
}

}  // namespace
}  // namespace glovebox::agent
