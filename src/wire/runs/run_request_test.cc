#include "wire/runs/run_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "wire/launcher/launcher_messages.h"

namespace glovebox::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string complaint(std::string_view body) {
  const auto request = parse_run_request(body);
  if (request) return "accepted";
  EXPECT_EQ(request.error().code(), Errc::kInvalidArgument);
  return request.error().message();
}

TEST(RunRequest, TheSmallestOne) {
  const auto request = parse_run_request(R"({"language":"python","code":"1+1"})");
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->language, "python");
  EXPECT_EQ(request->code, "1+1");
  EXPECT_FALSE(request->cold);
  EXPECT_EQ(request->profile, ProfileRequest{});
}

TEST(RunRequest, EverythingAtOnce) {
  const auto request = parse_run_request(R"({
    "template": "python-data", "code": "x = 1", "args": ["-v", "x y"], "stdin": "in",
    "files": [{"path": "a.txt", "content": "A"},
              {"path": "/tmp/b", "content_base64": "AP8=", "mode": "0755"}],
    "return_files": ["out/*.png", "/tmp/x"], "env": {"A": "1", "B_2": ""}, "workdir": "/tmp",
    "cold": true, "min_grade": "jail",
    "profile": {"timeout_ms": 1500, "cpu_ms": 1000, "memory_mb": 64.0, "cpus": 0.5, "pids": 10,
                "disk_mb": 5, "output_kb": 2, "net": "none",
                "mounts": [{"name": "data", "path": "/data", "mode": "rw"}]}})");
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->template_name, "python-data");
  EXPECT_THAT(request->args, ElementsAre("-v", "x y"));
  EXPECT_EQ(request->stdin_bytes, "in");
  ASSERT_EQ(request->files.size(), 2u);
  EXPECT_EQ(request->files[0].path.str(), "/home/user/a.txt");
  EXPECT_EQ(request->files[1].content, std::string("\0\xff", 2));
  EXPECT_EQ(request->files[1].mode, 0755u);
  EXPECT_THAT(request->return_files, ElementsAre("/home/user/out/*.png", "/tmp/x"));
  EXPECT_THAT(request->env, ElementsAre("A=1", "B_2="));
  EXPECT_EQ(request->workdir, "/tmp");
  EXPECT_TRUE(request->cold);
  EXPECT_EQ(request->min_grade, Grade::kJail);
  const ProfileRequest& profile = request->profile;
  EXPECT_EQ(profile.wall, std::chrono::milliseconds(1500));
  EXPECT_EQ(profile.cpu_time, std::chrono::milliseconds(1000));
  EXPECT_EQ(profile.memory_bytes, 64u << 20);
  EXPECT_EQ(profile.cpu_thousandths, 500u);
  EXPECT_EQ(profile.pids, 10u);
  EXPECT_EQ(profile.disk_bytes, 5u << 20);
  EXPECT_EQ(profile.output_bytes, 2048u);
  ASSERT_EQ(profile.mounts.size(), 1u);
  EXPECT_EQ(profile.mounts[0].mode, MountMode::kReadWrite);
}

TEST(RunRequest, ACommandIsAListOrALineForTheShell) {
  EXPECT_THAT(parse_run_request(R"({"command":["/bin/echo","a b"]})")->command,
              ElementsAre("/bin/echo", "a b"));
  EXPECT_THAT(parse_run_request(R"({"command":"echo a | cat"})")->command,
              ElementsAre("/bin/sh", "-c", "echo a | cat"));
}

TEST(RunRequest, LanguagesHaveOtherNames) {
  EXPECT_EQ(parse_run_request(R"({"language":"js","code":""})")->language, "javascript");
  EXPECT_EQ(parse_run_request(R"({"language":"node","code":""})")->language, "javascript");
  EXPECT_EQ(parse_run_request(R"({"language":"bash","code":""})")->language, "shell");
  EXPECT_THAT(complaint(R"({"language":"cobol","code":""})"), HasSubstr("language: must be"));
}

TEST(RunRequest, NullIsAsIfAbsent) {
  EXPECT_EQ(complaint(R"({"language":"python","code":"1","stdin":null,"profile":null})"),
            "accepted");
}

TEST(RunRequest, AMistakeNamesItsField) {
  const auto with = [](const std::string& rest) {
    return complaint("{\"language\":\"python\",\"code\":\"1\"," + rest + "}");
  };
  EXPECT_EQ(with(R"("profile":{"memory_mb":7})"),
            "profile.memory_mb: must be a whole number from 8 to 1048576");
  EXPECT_EQ(with(R"("profile":{"memory_mb":64.5})"),
            "profile.memory_mb: must be a whole number from 8 to 1048576");
  EXPECT_THAT(with(R"("profile":{"timeout_ms":-1})"), HasSubstr("profile.timeout_ms: must be"));
  EXPECT_THAT(with(R"("profile":{"timeout_ms":"9"})"), HasSubstr("profile.timeout_ms: must be"));
  EXPECT_THAT(with(R"("profile":{"timeout_ms":18446744073709551615})"),
              HasSubstr("profile.timeout_ms: must be"));
  EXPECT_THAT(with(R"("profile":{"cpus":1e999})"), ::testing::Not("accepted"));
  EXPECT_THAT(with(R"("profile":{"net":"full"})"), HasSubstr("profile.net: must be \"none\""));
  EXPECT_THAT(with(R"("profile":[])"), HasSubstr("profile: must be an object"));
  EXPECT_THAT(with(R"("profile":{"mounts":[{"path":"/x"}]})"),
              HasSubstr("profile.mounts[0].name: is missing"));
  EXPECT_THAT(with(R"("profile":{"mounts":[{"name":"a","path":"/x"},{"name":"b","path":"/x/"}]})"),
              HasSubstr("profile.mounts[1]: something else"));
  EXPECT_THAT(with(R"("files":[{"path":"x","content":"1"},{"path":"../x","content":""}])"),
              HasSubstr("files[1].path: "));
  EXPECT_THAT(with(R"("files":[{"path":"x"}])"), HasSubstr("files[0].content: is missing"));
  EXPECT_THAT(with(R"("files":[{"path":"x","content_base64":"A"}])"),
              HasSubstr("files[0].content_base64: is not valid base64"));
  EXPECT_THAT(with(R"("files":[{"path":"x","content":"1","content_base64":"AA=="}])"),
              HasSubstr("files[0].content_base64: cannot be combined with content"));
  EXPECT_THAT(with(R"("files":[{"path":"x/","content":"1"}])"), HasSubstr("must name a file"));
  EXPECT_THAT(with(R"("files":[{"path":"/","content":"1"}])"), HasSubstr("must name a file"));
  EXPECT_THAT(with(R"("files":[{"path":"x","content":"","mode":"4755"}])"),
              HasSubstr("files[0].mode"));
  EXPECT_THAT(with(R"("args":[1])"), HasSubstr("args[0]: must be a string"));
  EXPECT_THAT(with(R"("args":["a\u0000b"])"), HasSubstr("args[0]: must not have a NUL"));
  EXPECT_THAT(with(R"("env":{"A=B":"1"})"), HasSubstr("env.A=B: "));
  EXPECT_THAT(with(R"("env":{"A":1})"), HasSubstr("env.A: must be a string"));
  EXPECT_THAT(with(R"("cold":1)"), HasSubstr("cold: must be true or false"));
  EXPECT_THAT(with(R"("min_grade":"steel")"), HasSubstr("min_grade: must be"));
  EXPECT_THAT(with(R"("template":"../etc")"), HasSubstr("template: must be a name"));
}

TEST(RunRequest, TakesEverythingUpToItsBound) {
  const auto with = [](const std::string& rest) {
    return complaint("{\"language\":\"python\",\"code\":\"1\"," + rest + "}");
  };
  // COUNT times `one`, in which # is the number.
  const auto times = [](std::size_t count, const std::string& one) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += i == 0 ? "" : ",";
      for (const char c : one) text += c == '#' ? std::to_string(i) : std::string(1, c);
    }
    return text;
  };
  EXPECT_EQ(with(R"("profile":{"memory_mb":8,"cpus":0.5})"), "accepted");
  EXPECT_EQ(with(R"("profile":{"memory_mb":1048576})"), "accepted");
  EXPECT_THAT(with(R"("profile":{"memory_mb":1048577})"), HasSubstr("profile.memory_mb"));
  for (const char* mode : {"0", "7", "000", "0777", "777"}) {
    EXPECT_EQ(with(R"("files":[{"path":"x","content":"","mode":")" + std::string(mode) + "\"}]"),
              "accepted")
        << mode;
  }
  for (const char* mode : {"", "8", "1000", "00777", "/7", "x"}) {
    EXPECT_THAT(with(R"("files":[{"path":"x","content":"","mode":")" + std::string(mode) + "\"}]"),
                HasSubstr("files[0].mode"))
        << mode;
  }
  const std::string file = R"({"path":"f#","content":""})";
  EXPECT_EQ(with("\"files\":[" + times(kMaxRequestFiles, file) + "]"), "accepted");
  EXPECT_THAT(with("\"files\":[" + times(kMaxRequestFiles + 1, file) + "]"), HasSubstr("at most"));
  EXPECT_EQ(with("\"env\":{" + times(1024, R"("A#":"")") + "}"), "accepted");
  EXPECT_THAT(with("\"env\":{" + times(1025, R"("A#":"")") + "}"), HasSubstr("at most 1024"));
  const std::string mount = R"({"name":"m","path":"/m#"})";
  EXPECT_EQ(with("\"profile\":{\"mounts\":[" + times(kMaxMounts, mount) + "]}"), "accepted");
  EXPECT_THAT(with("\"profile\":{\"mounts\":[" + times(kMaxMounts + 1, mount) + "]}"),
              HasSubstr("at most"));
}

TEST(RunRequest, UnknownFieldsAreMistakesWithASuggestion) {
  EXPECT_EQ(complaint(R"({"language":"python","code":"1","stdn":"x"})"),
            "stdn: unknown field; did you mean \"stdin\"?");
  EXPECT_EQ(complaint(R"({"language":"python","code":"1","profile":{"memory":1}})"),
            "profile.memory: unknown field");
  EXPECT_EQ(complaint(R"({"language":"python","code":"1","profile":{"memorymb":1}})"),
            "profile.memorymb: unknown field; did you mean \"memory_mb\"?");
}

TEST(RunRequest, CodeAndCommandExcludeEachOther) {
  EXPECT_THAT(complaint(R"({"language":"python","code":"1","command":"true"})"),
              HasSubstr("command: "));
  EXPECT_THAT(complaint(R"({"language":"python"})"), HasSubstr("code: is missing"));
  EXPECT_THAT(complaint(R"({"code":"1"})"), HasSubstr("language: is missing"));
  EXPECT_THAT(complaint(R"({"command":[]})"), HasSubstr("command: must begin with a program"));
  EXPECT_THAT(complaint(R"({"command":["true"],"args":["x"]})"), HasSubstr("args: "));
}

TEST(RunRequest, OnlyGoodJson) {
  EXPECT_THAT(complaint(""), HasSubstr("invalid JSON at byte 0"));
  EXPECT_THAT(complaint("[]"), HasSubstr("the request: must be an object"));
  EXPECT_THAT(complaint(R"({"code":"1"} x)"), HasSubstr("invalid JSON"));
  EXPECT_THAT(complaint(R"({"code":"1","code":"2"})"), HasSubstr("the key \"code\" occurs twice"));
  EXPECT_THAT(complaint(R"({"env":{"A":"1","A":"2"}})"), HasSubstr("the key \"A\""));
  EXPECT_THAT(complaint(R"({"profile":{"cpus":NaN}})"), HasSubstr("invalid JSON"));
  EXPECT_THAT(complaint(R"({"profile":{"cpus":0e310}})"), HasSubstr("a number is out of range"));
  EXPECT_THAT(complaint(R"({"profile":{"cpus":1e400}})"), HasSubstr("invalid JSON"));
  EXPECT_THAT(complaint("{\"code\":\"\xff\"}"), HasSubstr("invalid JSON"));
  EXPECT_THAT(complaint(R"({"code":"\ud800"})"), HasSubstr("invalid JSON"));
  EXPECT_THAT(complaint(std::string(100'000, '[')), HasSubstr("invalid JSON"));
  std::string many = "{\"args\":[";
  for (int i = 0; i < 120'000; ++i) many += "[],";
  EXPECT_THAT(complaint(many + "[]]}"), HasSubstr("too many values"));
}

TEST(RunRequest, AnImageMayHaveAProgramOfItsOwn) {
  EXPECT_EQ(complaint(R"({"profile":{"image":"x:1"}})"), "accepted");
  EXPECT_THAT(complaint(R"({"profile":{"image":""}})"), HasSubstr("profile.image"));
  EXPECT_THAT(complaint(R"({"template":"base","command":"x","profile":{"image":"x"}})"),
              HasSubstr("template: cannot be combined with an image"));
  EXPECT_THAT(complaint(R"({"command":"x","profile":{"image":"x","dependencies":["six"]}})"),
              HasSubstr("cannot be combined with dependencies"));
  EXPECT_EQ(parse_run_request(R"({"command":"x","profile":{"image":"x:1"}})")->profile.image,
            "x:1");
}

TEST(RunRequest, TheSameKeyInTwoObjectsIsFine) {
  EXPECT_EQ(complaint(R"({"command":"true","files":[{"path":"a","content":""},
                         {"path":"b","content":""}]})"),
            "accepted");
}

TEST(RunRequest, ArgumentsAreBoundedTogether) {
  const std::string half(70'000, 'x');
  EXPECT_THAT(complaint(R"({"command":["a",")" + half + R"("],"env":{"A":")" + half + R"("}})"),
              HasSubstr("larger than 120 KB"));
  const auto command_of = [](std::size_t bytes) {  // each argument ends with a NUL
    return complaint(R"({"command":["a",")" + std::string(bytes - 3, 'x') + R"("]})");
  };
  EXPECT_EQ(command_of(120 * 1024), "accepted");
  EXPECT_THAT(command_of(120 * 1024 + 1), HasSubstr("larger than 120 KB"));
}

}  // namespace
}  // namespace glovebox::wire
