#include "cli/remote_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/runs/run_request.h"

namespace glovebox::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunOptions options(std::vector<std::string> args) {
  args.emplace_back("--server");
  return parse_run_options(args, [] { return Result<std::string>("from stdin"); })
      .value()
      .options.value();
}

// As the server reads it: a body it refuses is no body.
wire::RunRequest request(const std::vector<std::string>& args, const std::string& input = "") {
  return wire::parse_run_request(remote_body(options(args), input).value()).value();
}

TEST(RemoteRun, PythonGoesToTheWarmRuntime) {
  const wire::RunRequest run = request({"-c", "print(1)", "--env", "A=b=c"});
  EXPECT_EQ(run.language, "python");
  EXPECT_EQ(run.code, "print(1)");
  EXPECT_THAT(run.env, ElementsAre("A=b=c"));
  EXPECT_TRUE(run.command.empty());
  EXPECT_TRUE(run.files.empty());
}

TEST(RemoteRun, SendsTheNetworkPolicy) {
  EXPECT_FALSE(request({"-c", "1"}).profile.net);
  EXPECT_FALSE(request({"-c", "1", "--net", "none"}).profile.net);
  const auto policy = request({"-c", "1", "--net", "https-only,db.example:5432"}).profile.net;
  ASSERT_TRUE(policy);
  EXPECT_EQ(net::canonical_text(*policy), R"({"allow":["db.example:5432"],"base":"https-only"})");
}

TEST(RemoteRun, SendsTheTemplate) {
  EXPECT_EQ(request({"-c", "1"}).template_name, "");
  const wire::RunRequest run = request({"-c", "1", "--template", "python-data"});
  EXPECT_EQ(run.template_name, "python-data");
  EXPECT_EQ(run.language, "python");
}

TEST(RemoteRun, SendsWhetherItsSandboxMayBeUsedAgain) {
  EXPECT_EQ(request({"-c", "1"}).profile.reuse, ReuseMode::kNever);
  EXPECT_EQ(request({"-c", "1", "--reuse", "never"}).profile.reuse, ReuseMode::kNever);
  EXPECT_EQ(request({"-c", "1", "--reuse", "sandbox"}).profile.reuse, ReuseMode::kSandbox);
}

TEST(RemoteRun, SendsThePackages) {
  EXPECT_TRUE(request({"-c", "1"}).profile.dependencies.empty());
  const auto packages = request({"-c", "1", "--with", "b>=2,<3", "--with", "a", "--preload", "a,b"})
                            .profile.dependencies;
  EXPECT_THAT(packages.packages, ElementsAre("a", "b>=2,<3"));
  EXPECT_THAT(packages.preload, ElementsAre("a", "b"));
  // What is no text goes as a file and a command, and is Python's all the same.
  const wire::RunRequest bytes = request({"-c", "'\xff'", "--with", "a"});
  EXPECT_FALSE(bytes.command.empty());
  EXPECT_EQ(bytes.language, "python");
}

TEST(RemoteRun, SendsTheProgramsArguments) {
  std::vector<std::string> args = {"-c", "1", "--server", "--", "-x", "--server"};
  const auto parsed = parse_run_options(args, nullptr).value().options.value();
  const auto run = wire::parse_run_request(remote_body(parsed, "").value()).value();
  EXPECT_THAT(run.args, ElementsAre("-x", "--server"));
}

TEST(RemoteRun, AShellScriptIsAFileAndACommand) {
  const wire::RunRequest run = request({"-c", "echo $0", "--lang", "bash"});
  EXPECT_THAT(run.command, ElementsAre("/bin/bash", "/home/user/main.sh"));
  ASSERT_EQ(run.files.size(), 1u);
  EXPECT_EQ(run.files[0].path.str(), "/home/user/main.sh");
  EXPECT_EQ(run.files[0].content, "echo $0");
}

TEST(RemoteRun, LeavesUnsetLimitsToTheServer) {
  const ProfileRequest none = request({"-c", "1"}).profile;
  EXPECT_FALSE(none.wall || none.memory_bytes || none.pids || none.cpu_thousandths);
  const ProfileRequest all =
      request({"-c", "1", "--timeout", "500ms", "--cpu-time", "2s", "--memory", "64.5M", "--disk",
               "10M", "--pids", "9", "--cpus", "0.5", "--output-limit", "1"})
          .profile;
  EXPECT_EQ(all.wall, std::chrono::milliseconds(500));
  EXPECT_EQ(all.cpu_time, std::chrono::milliseconds(2000));
  EXPECT_EQ(all.memory_bytes, 64ull << 20);
  EXPECT_EQ(all.disk_bytes, 10ull << 20);
  EXPECT_EQ(all.pids, 9u);
  EXPECT_EQ(all.cpu_thousandths, 500u);
  EXPECT_EQ(all.output_bytes, 1024u);
}

TEST(RemoteRun, RefusesALargerOutputLimitThanTheServers) {
  EXPECT_THAT(remote_body(options({"-c", "1", "--output-limit", "1G"}), "").error().message(),
              HasSubstr("--output-limit"));
}

TEST(RemoteRun, SendsBinaryDataAsBase64) {
  const std::string bytes("\xff\0\n", 3);
  EXPECT_EQ(request({"-c", "1"}, bytes).stdin_bytes, bytes);
}

TEST(RemoteRun, SendsFilesAndRequestsFiles) {
  const wire::RunRequest run =
      request({"--exec", "/bin/true", "--file", "/bin/true:x", "--out", "/tmp/a:/tmp/b",
               "--workdir", "/tmp", "--min-grade", "jail"});
  EXPECT_THAT(run.command, ElementsAre("/bin/true"));
  ASSERT_EQ(run.files.size(), 1u);
  EXPECT_EQ(run.files[0].path.str(), "/home/user/x");
  EXPECT_EQ(run.files[0].mode, 0755u);
  EXPECT_THAT(run.return_files, ElementsAre("/tmp/a"));
  EXPECT_EQ(run.workdir, "/tmp");
  EXPECT_EQ(run.min_grade, Grade::kJail);
}

}  // namespace
}  // namespace glovebox::cli
