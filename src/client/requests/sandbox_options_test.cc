#include "client/requests/sandbox_options.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

TEST(SandboxOptions, LeavesOutWhatWasNotGiven) { EXPECT_EQ(*new_sandbox_json({}), "{}"); }

TEST(SandboxOptions, MakesTheBody) {
  NewSandboxOptions options;
  options.template_name = "python";
  options.ttl = "10m";
  options.limits.memory = "1G";
  options.limits.cpus = "0.5";
  options.env = {"A=1=2"};
  options.metadata = {"who=me"};
  options.mounts = {"data:/mnt/data:rw"};
  EXPECT_EQ(*new_sandbox_json(options),
            R"({"template":"python","ttl_s":600,"env":{"A":"1=2"},"metadata":{"who":"me"},)"
            R"("profile":{"memory_mb":1024,"cpus":0.5,)"
            R"("mounts":[{"name":"data","path":"/mnt/data","mode":"rw"}]}})");
}

TEST(SandboxOptions, PackagesDefaultToThePythonTemplate) {
  NewSandboxOptions options;
  options.packages.with = {"six"};
  EXPECT_EQ(*new_sandbox_json(options),
            R"({"template":"python","profile":{"dependencies":{"packages":["six"]}}})");
  options.template_name = "node";
  EXPECT_EQ(*new_sandbox_json(options),
            R"({"template":"node","profile":{"dependencies":{"packages":["six"]}}})");
  options.template_name = "";
  options.snapshot = "sn1";
  EXPECT_EQ(*new_sandbox_json(options),
            R"({"snapshot":"sn1","profile":{"dependencies":{"packages":["six"]}}})");
}

TEST(SandboxOptions, TakesTheSameNetworkPoliciesAsRun) {
  NewSandboxOptions options;
  options.network.allow = {"https-only"};
  EXPECT_EQ(*new_sandbox_json(options), R"({"profile":{"net":"https-only"}})");
  options.network.allow = {"none"};
  EXPECT_EQ(*new_sandbox_json(options), R"({"profile":{"net":"none"}})");
  options.network.allow = {"pypi.org:443"};
  EXPECT_NE(new_sandbox_json(options)->find(R"("allow":["pypi.org:443"])"), std::string::npos);
}

TEST(SandboxOptions, RefusesInvalidValues) {
  struct Case {
    NewSandboxOptions options;
    const char* message;
  };
  std::vector<Case> cases(10);
  cases[0].options.env = {"A"};
  cases[0].message = "--env must be NAME=VALUE, not 'A'";
  cases[1].options.ttl = "soon";
  cases[1].message = "--ttl";
  cases[2].options.on_timeout = "sleep";
  cases[2].message = "--on-timeout must be kill or pause";
  cases[3].options.limits.cpus = "many";
  cases[3].message = "--cpus must be a number like 0.5 or 2";
  cases[4].options.mounts = {"/data"};
  cases[4].message = "--mount must be NAME:/guest/path";
  cases[5].options.template_name = "base";
  cases[5].options.snapshot = "sn1";
  cases[5].message = "not both";
  cases[6].options.limits.memory = "12";
  cases[6].message = "--memory must be at least 1M";
  cases[7].options.packages.with = {"-r"};
  cases[7].message = "--with -r: must be a package";
  cases[8].options.network.allow = {"internet"};
  cases[8].message = "the policies are none, https-only and all";
  cases[9].options.network.deny = {"a.example"};
  cases[9].message = "--net-deny";
  for (const Case& one : cases) {
    const auto body = new_sandbox_json(one.options);
    ASSERT_FALSE(body.has_value()) << one.message;
    EXPECT_NE(body.error().message().find(one.message), std::string::npos)
        << body.error().message();
  }
}

}  // namespace
}  // namespace glovebox::client
