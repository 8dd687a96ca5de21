#include "client/requests/sandbox_options.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(SandboxWords, SaysNothingThatWasNotSaid) { EXPECT_EQ(*new_sandbox_json({}), "{}"); }

TEST(SandboxWords, MakesTheBody) {
  NewSandboxWords words;
  words.template_name = "python";
  words.ttl = "10m";
  words.memory = "1G";
  words.cpus = "0.5";
  words.env = {"A=1=2"};
  words.metadata = {"who=me"};
  words.mounts = {"data:/mnt/data:rw"};
  EXPECT_EQ(*new_sandbox_json(words),
            R"({"template":"python","ttl_s":600,"env":{"A":"1=2"},"metadata":{"who":"me"},)"
            R"("profile":{"memory_mb":1024,"cpus":5E-1,)"
            R"("mounts":[{"name":"data","path":"/mnt/data","mode":"rw"}]}})");
}

TEST(SandboxWords, PackagesAreForPythonUnlessSomethingElseIsSaid) {
  NewSandboxWords words;
  words.packages.with = {"six"};
  EXPECT_EQ(*new_sandbox_json(words),
            R"({"template":"python","profile":{"dependencies":{"packages":["six"]}}})");
  words.template_name = "node";
  EXPECT_EQ(*new_sandbox_json(words),
            R"({"template":"node","profile":{"dependencies":{"packages":["six"]}}})");
  words.template_name = "";
  words.snapshot = "sn1";
  EXPECT_EQ(*new_sandbox_json(words),
            R"({"snapshot":"sn1","profile":{"dependencies":{"packages":["six"]}}})");
}

TEST(SandboxWords, TheNetworkIsSaidAsForARun) {
  NewSandboxWords words;
  words.net = {"https-only"};
  EXPECT_EQ(*new_sandbox_json(words), R"({"profile":{"net":"https-only"}})");
  words.net = {"none"};
  EXPECT_EQ(*new_sandbox_json(words), R"({"profile":{"net":"none"}})");
  words.net = {"pypi.org:443"};
  EXPECT_NE(new_sandbox_json(words)->find(R"("allow":["pypi.org:443"])"), std::string::npos);
}

TEST(SandboxWords, RefusesWhatCannotBe) {
  struct Case {
    NewSandboxWords words;
    const char* message;
  };
  std::vector<Case> cases(10);
  cases[0].words.env = {"A"};
  cases[0].message = "--env must be NAME=VALUE, not 'A'";
  cases[1].words.ttl = "soon";
  cases[1].message = "--ttl";
  cases[2].words.on_timeout = "sleep";
  cases[2].message = "--on-timeout must be kill or pause";
  cases[3].words.cpus = "many";
  cases[3].message = "--cpus must be a number like 0.5 or 2";
  cases[4].words.mounts = {"/data"};
  cases[4].message = "--mount must be NAME:/guest/path";
  cases[5].words.template_name = "base";
  cases[5].words.snapshot = "sn1";
  cases[5].message = "say one of the two";
  cases[6].words.memory = "12";
  cases[6].message = "--memory must be at least 1M";
  cases[7].words.packages.with = {"-r"};
  cases[7].message = "--with -r: must be a package";
  cases[8].words.net = {"internet"};
  cases[8].message = "the policies are none, https-only and all";
  cases[9].words.net_deny = {"a.example"};
  cases[9].message = "--net-deny";
  for (const Case& one : cases) {
    const auto body = new_sandbox_json(one.words);
    ASSERT_FALSE(body.has_value()) << one.message;
    EXPECT_NE(body.error().message().find(one.message), std::string::npos)
        << body.error().message();
  }
}

}  // namespace
}  // namespace glovebox::client
