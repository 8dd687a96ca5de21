#include "cli/function_options.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/function_run.h"

namespace glovebox::cli {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

Result<std::string> event_on_stdin() { return "{\"from\":\"stdin\"}"; }
Result<std::string> nothing_on_stdin() { return "\n"; }

class FunctionOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("GLOVEBOX_URL");
    char name[] = "/tmp/gbx-options-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
    handler_ = write("my_app.py", "def handler(event, context): return event\n");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static Result<ParsedFunction> parse(std::vector<std::string> words) {
    return parse_function_options(words, event_on_stdin);
  }
  static FunctionOptions good(std::vector<std::string> words) {
    auto parsed = parse(std::move(words));
    EXPECT_TRUE(parsed) << parsed.error().message();
    return parsed && parsed->options ? *parsed->options : FunctionOptions{};
  }
  static Errc refusal(std::vector<std::string> words) {
    const auto parsed = parse(std::move(words));
    return parsed ? Errc::kInternal : parsed.error().code();
  }

  std::string directory_;
  std::string handler_;
};

TEST_F(FunctionOptionsTest, ReadsTheEventFromOptionFileOrStandardInput) {
  EXPECT_EQ(good({handler_}).call.event, R"({"from":"stdin"})");
  EXPECT_EQ(good({handler_, "--event", "[1, 2]"}).call.event, "[1,2]");
  const std::string file = write("event.json", "{\"k\": 1}");
  EXPECT_EQ(good({handler_, "--event-file", file}).call.event, R"({"k":1})");
  EXPECT_EQ(good({handler_, "--event-file", "-"}).call.event, R"({"from":"stdin"})");
  const std::vector<std::string> words = {handler_};
  EXPECT_EQ(parse_function_options(words, nothing_on_stdin)->options->call.event, "{}");
}

TEST_F(FunctionOptionsTest, TellsAMissingFileFromABadOption) {
  EXPECT_EQ(refusal({directory_ + "/nope.py"}), Errc::kNotFound);
  EXPECT_EQ(refusal({directory_}), Errc::kNotFound);
  EXPECT_EQ(refusal({handler_, "--event-file", directory_ + "/nope.json"}), Errc::kNotFound);
  EXPECT_EQ(refusal({write("latin.py", "# \xe4\n")}), Errc::kNotFound);
  EXPECT_EQ(refusal({handler_, "--event-file", write("latin.json", "\"\xe4\"")}), Errc::kNotFound);
  EXPECT_EQ(refusal({handler_, "--event-file", directory_}), Errc::kNotFound);
  EXPECT_EQ(refusal({handler_, "--event-file", "/dev/zero"}), Errc::kNotFound);
  EXPECT_EQ(refusal({handler_, "--event", "\"\xe4\""}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({write("x.txt", "hello")}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--event", "{"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--event", "{}", "--event-file", "-"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--event", R"({"__timeout":3601})"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--context", "[]"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--timeout", "3601"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--memory", "1"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--env", "A"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--engine", "magic"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--bogus"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--server", "--local"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--key", "gbx_0"}), Errc::kInvalidArgument);
}

TEST_F(FunctionOptionsTest, UsesLambdasUnits) {
  const FunctionOptions options =
      good({handler_, "--event", "{}", "--memory", "256", "--timeout", "2"});
  EXPECT_EQ(options.limits.memory_bytes, 256u << 20);
  EXPECT_EQ(options.limits.wall, milliseconds(2000));
  EXPECT_EQ(good({handler_, "--event", "{}"}).limits.wall, milliseconds(300'000));
  EXPECT_EQ(good({handler_, "--event", R"({"__timeout":1})", "--timeout", "9"}).limits.wall,
            milliseconds(1000));
}

TEST_F(FunctionOptionsTest, RecognizesNodeByTheFileName) {
  for (const char* name : {"a.js", "a.mjs", "a.cjs"}) {
    EXPECT_EQ(good({write(name, "1")}).call.language, wire::FunctionLanguage::kNode);
  }
  EXPECT_EQ(good({handler_}).call.file, "my_app.py");
  EXPECT_EQ(good({write("odd name.py", "1")}).call.file, "handler.py");
}

TEST_F(FunctionOptionsTest, SendsTheSameToAServer) {
  const FunctionOptions options =
      good({handler_, "--event", R"({"a":1.5})", "--handler", "m.f", "--env", "A=b=c", "--memory",
            "64", "--context", R"({"function_name":"f"})", "--server", "http://x:1", "--json"});
  EXPECT_TRUE(options.is_remote);
  EXPECT_EQ(options.where.server.url, "http://x:1");
  const json::object body = json::parse(invoke_body(options)).as_object();
  EXPECT_EQ(body.at("language"), "python");
  EXPECT_EQ(body.at("handler"), "m.f");
  EXPECT_EQ(body.at("file_name"), "my_app.py");
  EXPECT_EQ(body.at("event"), json::parse(R"({"a":1.5})"));
  EXPECT_EQ(body.at("context"), json::parse(R"({"function_name":"f"})"));
  EXPECT_EQ(body.at("env"), json::parse(R"({"A":"b=c"})"));
  EXPECT_EQ(body.at("profile").at("memory_mb"), 64);
  EXPECT_EQ(body.at("timeout_ms"), 300'000);
  EXPECT_FALSE(body.at("profile").as_object().contains("reuse"));
  const FunctionOptions reusing =
      good({handler_, "--event", "1", "--server", "--reuse", "sandbox"});
  EXPECT_EQ(json::parse(invoke_body(reusing)).at("profile").at("reuse"), "sandbox");
  EXPECT_EQ(refusal({handler_, "--server", "--reuse", "x"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--local", "--reuse", "sandbox"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--server", "--engine", "process"}), Errc::kInvalidArgument);
}

TEST_F(FunctionOptionsTest, TakesANetworkPolicy) {
  EXPECT_TRUE(good({handler_}).net.is_none());
  EXPECT_FALSE(
      json::parse(invoke_body(good({handler_}))).at("profile").as_object().contains("net"));
  const FunctionOptions options =
      good({handler_, "--net", "https-only,a.example:25", "--net-deny", "b.example"});
  EXPECT_EQ(json::parse(invoke_body(options)).at("profile").at("net"),
            json::parse(R"({"base":"https-only","allow":["a.example:25"],"deny":["b.example"]})"));
  EXPECT_EQ(refusal({handler_, "--net", "a b"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--net", "all", "--engine", "process"}), Errc::kInvalidArgument);
}

TEST_F(FunctionOptionsTest, PackagesNeedAServerWhichIsStartedIfThereIsNone) {
  const std::string file = write("requirements.txt", "b==1\n");
  const FunctionOptions options = good({handler_, "--with", "a>=2", "--requirements", file,
                                        "--preload", "a.x", "--host-packages", "--event", "{}"});
  EXPECT_TRUE(options.is_private);
  EXPECT_EQ(json::parse(invoke_body(options)).at("profile").at("dependencies"),
            json::parse(R"({"packages":["a>=2"],"requirements":"b==1","preload":["a.x"],)"
                        R"("host_packages":true})"));
  EXPECT_FALSE(good({handler_, "--with", "a", "--server", "http://x:1"}).is_private);
  EXPECT_FALSE(good({handler_}).is_private);
  const std::string node = write("a.mjs", "1");
  EXPECT_TRUE(good({node, "--with", "lodash@4"}).is_private);
  EXPECT_EQ(refusal({node, "--requirements", file}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({node, "--with", "a", "--preload", "a"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({node, "--with", "a", "--host-packages"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--with", "./a"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--host-packages"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--with", "a", "--engine", "process"}), Errc::kInvalidArgument);
  EXPECT_EQ(refusal({handler_, "--requirements", directory_ + "/no.txt"}), Errc::kNotFound);
}

TEST_F(FunctionOptionsTest, UsesTheServerOfTheEnvironment) {
  ::setenv("GLOVEBOX_URL", "http://127.0.0.1:1", 1);
  EXPECT_TRUE(good({handler_}).is_remote);
  EXPECT_FALSE(good({handler_, "--local"}).is_remote);
  ::unsetenv("GLOVEBOX_URL");
  EXPECT_FALSE(good({handler_}).is_remote);
}

TEST_F(FunctionOptionsTest, PrintsHelpAndVersion) {
  EXPECT_NE(parse({"--help"})->help.find("Exit status"), std::string::npos);
  EXPECT_EQ(parse({"--version"})->help.substr(0, 12), "sandbox-run ");
}

}  // namespace
}  // namespace glovebox::cli
