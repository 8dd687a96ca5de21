#include "cli/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace glovebox::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Result<std::string> some_code() { return std::string("print('from stdin')"); }

Result<ParsedRun> parse(std::vector<std::string> args) {
  return parse_run_options(args, some_code);
}
RunOptions good(std::vector<std::string> args) {
  return parse(std::move(args)).value().options.value();
}
std::string refusal(std::vector<std::string> args) {
  const auto parsed = parse(std::move(args));
  return parsed ? "was accepted" : parsed.error().message();
}

TEST(RunOptions, CodeIsPythonByDefault) {
  const RunOptions options = good({"-c", "print(1)"});
  EXPECT_THAT(options.request.exec.argv, ElementsAre("/usr/bin/python3", "/home/user/main.py"));
  EXPECT_EQ(options.request.files_in.at(0).content, "print(1)");
}

TEST(RunOptions, CodeMayBeEmptyAndMayLookLikeAnOption) {
  EXPECT_EQ(good({"-c", ""}).request.files_in.at(0).content, "");
  EXPECT_EQ(good({"--code=-1"}).request.files_in.at(0).content, "-1");
}

TEST(RunOptions, ADashReadsTheCodeFromStandardInput) {
  const RunOptions options = good({"-", "--lang", "bash"});
  EXPECT_TRUE(options.stdin_is_code);
  EXPECT_EQ(options.request.files_in.at(0).content, "print('from stdin')");
  EXPECT_EQ(options.request.exec.argv.at(0), "/bin/bash");
}

TEST(RunOptions, WordsAfterTheSeparatorAreTheProgramsArguments) {
  const RunOptions options = good({"--exec", "/bin/echo", "--", "--json", "-c", "--"});
  EXPECT_FALSE(options.json);
  EXPECT_THAT(options.request.exec.argv, ElementsAre("/bin/echo", "--json", "-c", "--"));
}

TEST(RunOptions, ArgumentsWithoutTheSeparatorGetTheLineThatPassesThem) {
  EXPECT_THAT(refusal({"/tmp/a.py", "x", "y z"}), HasSubstr("`glovebox run /tmp/a.py -- x 'y z'`"));
  EXPECT_THAT(refusal({"-c", "1", "x"}), HasSubstr("`glovebox run -c CODE -- x`"));
  EXPECT_THAT(refusal({"x", "--exec", "/bin/echo"}),
              HasSubstr("`glovebox run --exec /bin/echo -- x`"));
  EXPECT_THAT(refusal({"a.py", std::string(5000, 'x')}), HasSubstr("`glovebox run a.py -- ...`"));
  EXPECT_THAT(refusal({"a.py", "--verbose-mode"}), HasSubstr("options of the program follow `--`"));
}

TEST(RunOptions, ParsesUnits) {
  const Limits limits = good({"-c", "", "--timeout", "500ms", "--memory", "256M", "--cpus", "0.5",
                              "--pids", "9", "--disk", "10M", "--cpu-time", "2s"})
                            .request.sandbox.limits;
  EXPECT_EQ(limits.wall.count(), 500);
  EXPECT_EQ(limits.memory_bytes, 256ull << 20);
  EXPECT_EQ(limits.cpu_thousandths, 500u);
  EXPECT_EQ(limits.pids, 9u);
  EXPECT_TRUE(limits.was_asked_for(LimitKind::kMemory));
}

TEST(RunOptions, UnsetLimitsAreNotMarked) {
  EXPECT_EQ(good({"-c", ""}).request.sandbox.limits.asked_for, 0);
}

TEST(RunOptions, DoesNotPassTheCallersEnvironment) {
  ::setenv("GBX_TEST_SECRET", "x", 1);
  const auto env = good({"-c", "", "--env", "A=1", "--env", "HOME=/tmp"}).request.exec.env;
  EXPECT_THAT(env, Not(Contains(StartsWith("GBX_TEST_SECRET"))));
  EXPECT_THAT(env, Contains("A=1"));
  EXPECT_THAT(env, Contains("HOME=/tmp"));
  EXPECT_THAT(env, Not(Contains("HOME=/home/user")));
}

TEST(RunOptions, TheNetworkIsNoneByDefault) {
  EXPECT_TRUE(good({"-c", ""}).net.is_none());
  EXPECT_TRUE(good({"-c", "", "--net", "none", "--engine", "process"}).net.is_none());
  EXPECT_EQ(net::canonical_text(good({"-c", "", "--net", "https-only"}).net), R"("https-only")");
  EXPECT_EQ(net::canonical_text(good({"-c", "", "--net", "a.example,b.example:443",
                                      "--net=*.c.example", "--net-deny", "evil.c.example"})
                                    .net),
            R"({"allow":["*.c.example","a.example","b.example:443"],"deny":["evil.c.example"]})");
  EXPECT_EQ(net::canonical_text(good({"-c", "", "--net", R"({"base":"all"})"}).net), R"("all")");
}

TEST(RunOptions, AMountHasTheHostPathByDefault) {
  const auto mounts =
      good({"-c", "", "--mount", "ro:/usr", "--mount", "rw:/tmp:/data"}).request.sandbox.mounts;
  EXPECT_EQ(mounts.at(0).guest.str(), "/usr");
  EXPECT_EQ(mounts.at(1).guest.str(), "/data");
  EXPECT_EQ(mounts.at(1).mode, MountMode::kReadWrite);
}

TEST(RunOptions, EveryMistakeIsReported) {
  EXPECT_THAT(refusal({}), HasSubstr("nothing to run"));
  EXPECT_THAT(refusal({"/no/such.py"}), HasSubstr("No such file"));
  EXPECT_THAT(refusal({"/tmp"}), HasSubstr("by its extension"));
  EXPECT_THAT(refusal({"-c", "", "--engine", "docker"}), HasSubstr("jail, process"));
  EXPECT_THAT(refusal({"-c", "", "--pull", "always"}), HasSubstr("--image"));
  EXPECT_THAT(refusal({"-c", "", "--image", "x", "--pull", "soon"}), HasSubstr("missing, always"));
  EXPECT_THAT(refusal({"-c", "", "--min-grade", "best"}), HasSubstr("unknown grade"));
  EXPECT_THAT(refusal({"-c", "", "--mount", "ro:/no/such/dir"}), HasSubstr("No such file"));
  EXPECT_THAT(refusal({"-c", "", "--mount", "/tmp"}), HasSubstr("expected "));
  EXPECT_THAT(refusal({"-c", "", "--mount", "ro:/dev/null:/x"}), HasSubstr("not a directory"));
  EXPECT_THAT(refusal({"-c", "", "--file", "/dev/null:/x"}), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal({"-c", "", "--memory", "12Q"}), HasSubstr("--memory"));
  EXPECT_THAT(refusal({"-c", "", "--memory", "1K"}), HasSubstr("at least"));
  EXPECT_THAT(refusal({"-c", "", "--timeout", "soon"}), HasSubstr("--timeout"));
  EXPECT_THAT(refusal({"-c", "", "--pids", "1"}), HasSubstr("at least 2"));
  EXPECT_THAT(refusal({"-c", "", "--pids", "-3"}), HasSubstr("--pids"));
  EXPECT_THAT(refusal({"-c", "", "--cpus", "nan"}), HasSubstr("--cpus"));
  EXPECT_THAT(refusal({"-c", "", "--net", "http://a.example"}), HasSubstr("not a URL"));
  EXPECT_THAT(refusal({"-c", "", "--net", "all", "--engine", "process"}),
              HasSubstr("cannot enforce"));
  EXPECT_THAT(refusal({"-c", "", "--env", "novalue"}), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal({"-c", "", "--file", "x"}), HasSubstr("expected "));
  EXPECT_THAT(refusal({"-c", "", "--out", ":x"}), HasSubstr("expected "));
  EXPECT_THAT(refusal({"-c", "", "--out", "/a/../b:x"}), HasSubstr(".."));
  EXPECT_THAT(refusal({"-c", "", "--out", "f:/dev/null"}), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal({"-c", "", "--out", "f:/tmp"}), HasSubstr("is a directory"));
  EXPECT_THAT(refusal({"-c", "", "--out", "f:/no/such/dir/f"}), HasSubstr("No such file"));
  EXPECT_THAT(refusal({"-c", "", "--frobnicate"}), HasSubstr("--frobnicate"));
  EXPECT_THAT(refusal({"-c", "", "--lang", "cobol"}), HasSubstr("python, bash or javascript"));
  EXPECT_THAT(refusal({"-c", "", "--exec", "/bin/true"}), HasSubstr("only one of"));
  EXPECT_THAT(refusal({"--exec", "/bin/true", "--", std::string(10u << 20, 'x')}),
              HasSubstr("128K"));
  EXPECT_THAT(refusal({"-c", "", "--workdir", std::string("/a\0b", 4)}), HasSubstr("NUL"));
}

TEST(RunOptions, ANulByteInTheCodeIsRefused) {
  const auto parsed = parse_run_options(std::vector<std::string>{"-"},
                                        [] { return Result<std::string>(std::string("a\0b", 3)); });
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message(), HasSubstr("NUL"));
}

TEST(RunOptions, ServerTakesAnOptionalUrl) {
  EXPECT_FALSE(good({"-c", "1"}).is_remote);
  EXPECT_TRUE(good({"-c", "1", "--server"}).is_remote);
  EXPECT_EQ(good({"--server", "http://127.0.0.1:7070", "-c", "1"}).where.server.url,
            "http://127.0.0.1:7070");
  EXPECT_EQ(good({"--server=http://[::1]:1", "-c", "1"}).where.server.url, "http://[::1]:1");
  const RunOptions known = good({"--server", "-", "--lang", "python"});
  EXPECT_TRUE(known.is_remote);
  EXPECT_EQ(known.where.server.url, "");
  EXPECT_TRUE(known.stdin_is_code) << "what follows --server and is no address is the FILE";
  EXPECT_THAT(server_arguments(known.where), ::testing::IsEmpty());
  const RunOptions by_url = good({"--url", "http://x:1", "-c", "1"});
  EXPECT_TRUE(by_url.is_remote);
  EXPECT_THAT(server_arguments(by_url.where), ElementsAre("--url", "http://x:1"));
  const RunOptions named =
      good({"--server", "http://x:1", "-c", "1", "--key", "gbx_0", "--data-dir", "/d"});
  EXPECT_THAT(server_arguments(named.where),
              ElementsAre("--server", "http://x:1", "--key", "gbx_0", "--data-dir", "/d"));
}

TEST(RunOptions, LocalOverridesTheEnvironment) {
  ::setenv("GLOVEBOX_URL", "http://127.0.0.1:7070", 1);
  EXPECT_TRUE(good({"-c", "1"}).is_remote);
  EXPECT_FALSE(good({"-c", "1", "--local"}).is_remote);
  ::setenv("GLOVEBOX_URL", "", 1);
  EXPECT_FALSE(good({"-c", "1"}).is_remote);
  ::unsetenv("GLOVEBOX_URL");
}

TEST(RunOptions, ReuseIsForServers) {
  EXPECT_THAT(refusal({"-c", "1", "--reuse", "sandbox"}), HasSubstr("--server"));
  EXPECT_THAT(refusal({"--server", "-c", "1", "--reuse", "always"}),
              HasSubstr("never, sandbox or interpreter"));
}

TEST(RunOptions, RefusesWhatAServerCannotDo) {
  EXPECT_THAT(refusal({"--server", "-c", "1", "-t"}), HasSubstr("--local"));
  EXPECT_THAT(refusal({"--server", "-c", "1", "--mount", "ro:/tmp"}), HasSubstr("`mounts`"));
  EXPECT_THAT(refusal({"--server", "-c", "1", "--engine", "process"}), HasSubstr("--local"));
  EXPECT_THAT(refusal({"--server", "--local", "-c", "1"}), HasSubstr("cannot be combined"));
  EXPECT_THAT(refusal({"-c", "1", "--key", "gbx_0"}),
              HasSubstr("--key is only for runs on a server"));
  EXPECT_THAT(refusal({"-c", "1", "--local", "--data-dir", "/x"}),
              HasSubstr("--data-dir is only for runs on a server"));
}

TEST(RunOptions, HelpIsText) {
  EXPECT_THAT(parse({"--help"}).value().help, HasSubstr("--min-grade"));
}

TEST(RunOptions, PackagesStartAPrivateServer) {
  ::unsetenv("GLOVEBOX_URL");
  EXPECT_FALSE(good({"-c", ""}).is_remote);
  const RunOptions alone = good({"-c", "", "--with", "pandas>=2", "--with", "numpy"});
  EXPECT_THAT(alone.dependencies.packages, ElementsAre("numpy", "pandas>=2"));
  EXPECT_TRUE(alone.is_remote);
  EXPECT_TRUE(alone.is_private);
  EXPECT_TRUE(good({"-c", "", "--with", "a", "--local"}).is_private);
  const RunOptions on_one = good({"-c", "", "--with", "a", "--server", "http://127.0.0.1:1"});
  EXPECT_TRUE(on_one.is_remote);
  EXPECT_FALSE(on_one.is_private);
  EXPECT_TRUE(good({"-c", "", "--lang", "node", "--with", "lodash@4"}).is_private);
}

TEST(RunOptions, PackagesNeedPythonOrNode) {
  ::unsetenv("GLOVEBOX_URL");
  EXPECT_THAT(refusal({"--exec", "/bin/ls", "--with", "a"}),
              HasSubstr("cannot be combined with --exec"));
  EXPECT_THAT(refusal({"-c", "", "--lang", "bash", "--with", "a"}),
              HasSubstr("cannot be combined with bash"));
  EXPECT_THAT(refusal({"-c", "", "--with", "../a"}), StartsWith("--with ../a: must name"));
  EXPECT_THAT(refusal({"-c", "", "--preload", "a"}), StartsWith("--preload: goes with"));
  EXPECT_THAT(refusal({"-c", "", "--lang", "node", "--with", "is-odd", "--preload", "is-odd"}),
              HasSubstr("--preload is for Python only"));
  EXPECT_THAT(refusal({"-c", "", "--template", "x"}), HasSubstr("use --server"));
  EXPECT_THAT(refusal({"-c", "", "--lock", "/nowhere"}), HasSubstr("--lock /nowhere"));
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--tty"}, {"--engine", "process"}}) {
    std::vector<std::string> args = {"-c", "", "--with", "a"};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_THAT(refusal(args), HasSubstr("packages are installed by a server")) << more[0];
  }
  // A server of one's own mounts one's own paths.
  const RunOptions own = good({"-c", "", "--with", "a", "--mount", "ro:/tmp:/data"});
  EXPECT_EQ(own.request.sandbox.mounts.size(), 1u);
  EXPECT_THAT(refusal({"-c", "", "--with", "a", "--server", "--mount", "ro:/tmp"}),
              HasSubstr("`mounts`"));
}

}  // namespace
}  // namespace glovebox::cli
