#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/toml_file.h"

namespace glovebox::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Load : public ::testing::Test {
 protected:
  Load() {
    char name[] = "/tmp/gbx-config-XXXXXX";
    directory_ = ::mkdtemp(name);
    process_.data_dir = "/var/lib/glovebox";
    process_.file = directory_ + "/server.toml";
  }
  ~Load() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& text) { std::ofstream(process_.file) << text; }
  Result<LoadedSettings> load_with(std::vector<std::string> args) { return load(args, process_); }
  std::string refusal(std::vector<std::string> args = {}) {
    const auto loaded = load_with(std::move(args));
    return loaded ? "accepted" : loaded.error().message();
  }
  static std::string origin(const LoadedSettings& loaded, std::string_view key) {
    for (const SettingValue& entry : loaded.table) {
      if (entry.key->name == key) return entry.origin;
    }
    return "no such key";
  }

  std::string directory_;
  ProcessEnvironment process_;
};

TEST_F(Load, HasDefaultsWithoutAnything) {
  const auto loaded = load_with({});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->settings.listen, "127.0.0.1:7070");
  EXPECT_EQ(loaded->settings.data_dir, "/var/lib/glovebox");
  EXPECT_EQ(loaded->settings.uid, 1879048192u);
  EXPECT_EQ(origin(*loaded, "server.listen"), "default");
}

TEST_F(Load, LaterSourcesOverrideEarlierOnesAndAreNamed) {
  write("[server]\nlisten = \"127.0.0.1:1\"\ndomain = 'file'\nuser = 'file'\n");
  process_.variables = {"GLOVEBOX_SERVER_LISTEN=127.0.0.1:2", "GLOVEBOX_SERVER_USER=env", "A=B"};
  const auto loaded = load_with({"--listen", "127.0.0.1:3"});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->settings.domain, "file");
  EXPECT_EQ(origin(*loaded, "server.domain"), "file " + process_.file + ":3");
  EXPECT_EQ(loaded->settings.user, "env");
  EXPECT_EQ(origin(*loaded, "server.user"), "environment GLOVEBOX_SERVER_USER");
  EXPECT_EQ(loaded->settings.listen, "127.0.0.1:3");
  EXPECT_EQ(origin(*loaded, "server.listen"), "flag --listen");
}

TEST_F(Load, TheLastFlagWins) {
  const auto loaded = load_with({"--listen=127.0.0.1:1", "--set", "server.listen=127.0.0.1:2"});
  EXPECT_EQ(loaded->settings.listen, "127.0.0.1:2");
  EXPECT_EQ(origin(*loaded, "server.listen"), "flag --set");
}

TEST_F(Load, TheFullVariableWinsOverTheShortOne) {
  process_.variables = {"GLOVEBOX_LOG_LEVEL=warn", "GLOVEBOX_LOG=debug", "GLOVEBOX_DATA_DIR=/d"};
  const auto loaded = load_with({});
  EXPECT_EQ(loaded->settings.log_level, "warn");
  EXPECT_EQ(loaded->settings.data_dir, "/d");
}

TEST_F(Load, ReadsEveryTypeFromTheFile) {
  write(
      "[server]\nmax_body = 4096\norigins = ['https://a', 'https://b']\nstop_timeout = 5\n"
      "[pools]\nmax_memory = '2G'\nmax = 9\n[log]\nrequests = false\n");
  const auto loaded = load_with({});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->settings.max_body, 4096u);
  EXPECT_THAT(loaded->settings.origins, ElementsAre("https://a", "https://b"));
  EXPECT_EQ(loaded->settings.stop_timeout.count(), 5000);
  EXPECT_EQ(loaded->settings.max_memory, 2ull << 30);
  EXPECT_EQ(loaded->settings.pool_max, 9u);
  EXPECT_FALSE(loaded->settings.log_requests);
}

TEST_F(Load, RefusesTheWrongTypeInTheFileWithItsLine) {
  for (const char* line :
       {"listen = 7070", "user = true", "max_connections = '5'", "max_body = true",
        "stop_timeout = 1.5", "origins = [1]", "listen = []", "origins = 3", "max_connections = -1",
        "listen = 2020-01-01", "listen = {a = 1}", "origins = ['a,b']"}) {
    write("\n[server]\n" + std::string(line) + "\n");
    EXPECT_THAT(refusal(), AllOf(HasSubstr("server.toml:3"), HasSubstr("must be"))) << line;
  }
}

TEST_F(Load, RefusesABadValueNamingKeyOriginAndExpectation) {
  write("[server]\nmax_body = 'lots'\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("server.max_body"), HasSubstr("server.toml:2"),
                               HasSubstr("a size like"), HasSubstr("'lots'")));
  write("");
  process_.variables = {"GLOVEBOX_POOLS_MAX=many"};
  EXPECT_THAT(refusal(), AllOf(HasSubstr("pools.max"), HasSubstr("environment GLOVEBOX_POOLS_MAX"),
                               HasSubstr("a whole number")));
  process_.variables.clear();
  EXPECT_THAT(refusal({"--listen", "here"}),
              AllOf(HasSubstr("server.listen"), HasSubstr("flag --listen")));
}

TEST_F(Load, RefusesUnknownKeysWithASuggestion) {
  write("[server]\nlisten = '127.0.0.1:1'\n\nlisen = '127.0.0.1:1'\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("server.toml:4"), HasSubstr("'server.lisen'"),
                               HasSubstr("did you mean 'server.listen'")));
  write("listen = '127.0.0.1:1'\n");
  EXPECT_THAT(refusal(), HasSubstr("did you mean 'server.listen'"));
  write("");
  EXPECT_THAT(refusal({"--set", "pools.mx=1"}), HasSubstr("did you mean 'pools.max'"));
  EXPECT_THAT(refusal({"--set", "pools.max"}), HasSubstr("KEY=VALUE"));
}

TEST_F(Load, RefusesUnknownVariablesOfOurSectionsAndNearMisses) {
  process_.variables = {"GLOVEBOX_SERVER_LISEN=1"};
  EXPECT_THAT(refusal(), HasSubstr("did you mean GLOVEBOX_SERVER_LISTEN"));
  process_.variables = {"GLOVEBOX_STORE_KITCHEN_SINK=1"};
  EXPECT_THAT(refusal(), HasSubstr("GLOVEBOX_STORE_KITCHEN_SINK"));
  process_.variables = {"GLOVEBOX_DATADIR=/x"};
  EXPECT_THAT(refusal(), HasSubstr("did you mean GLOVEBOX_DATA_DIR"));
}

TEST_F(Load, LeavesOtherProgramsVariablesAlone) {
  process_.variables = {"GLOVEBOX_LAUNCHER=private",
                        "GLOVEBOX_LIBEXEC=/x",
                        "GLOVEBOX_URL=x",
                        "GLOVEBOX_BIN=x",
                        "GLOVEBOX_API_KEY=x",
                        "GLOVEBOX_SERVICE_HOST=10.0.0.1",
                        "GLOVEBOX_SERVER_PORT_7070_TCP=tcp://10.0.0.1:7070",
                        "GLOVEBOX"};
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(Load, RefusesBrokenFiles) {
  for (const char* text : {"[server", "[)", "a = ", "[server]\nlisten = \"\xc3\xa9\"\n", "a\0b"}) {
    write(text);
    EXPECT_THAT(refusal(), HasSubstr("server.toml")) << text;
  }
}

TEST_F(Load, AChosenFileMustExistAndReplacesTheUsualOne) {
  write("[server]\ndomain = 'usual'\n");
  EXPECT_THAT(refusal({"--config", directory_ + "/none"}), HasSubstr("/none"));
  EXPECT_THAT(refusal({"--config", directory_}), HasSubstr("is not a file"));
  const std::string other = directory_ + "/other.toml";
  std::ofstream(other) << "[server]\nuser = 'other'\n";
  const auto loaded = load_with({"--config=" + other});
  EXPECT_EQ(loaded->settings.domain, "");
  EXPECT_EQ(loaded->settings.user, "other");
}

TEST_F(Load, RootReadsOnlyAFileThatOthersCannotWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to own a file as root";
  process_.is_root = true;
  write("");
  EXPECT_EQ(refusal(), "accepted");
  ::chmod(process_.file.c_str(), 0666);
  EXPECT_THAT(refusal(), HasSubstr("writable by root only"));
}

TEST_F(Load, ChecksWhatBelongsTogether) {
  EXPECT_THAT(refusal({"--set", "server.tls_cert=/c"}), HasSubstr("tls_key"));
  EXPECT_THAT(refusal({"--data-dir", "/" + std::string(200, 'a')}), HasSubstr("at most 90"));
  process_.data_dir = "";
  EXPECT_THAT(refusal(), HasSubstr("HOME"));
}

TEST_F(Load, ADomainIsAHostName) {
  for (const char* good : {"sandbox.example.com", "Box", "203.0.113.5", "a_b.example"}) {
    EXPECT_EQ(refusal({"--set", std::string("server.domain=") + good}), "accepted") << good;
  }
  for (const char* bad : {"*.example.com", "https://example.com", "example.com:8443", "a b",
                          "example.com.", ".example.com", "a..b"}) {
    EXPECT_THAT(refusal({"--set", std::string("server.domain=") + bad}),
                AllOf(HasSubstr("server.domain (flag --set)"), HasSubstr(bad)))
        << bad;
  }
}

TEST_F(Load, RefusesRulesOfNetworksThatMeanNothing) {
  EXPECT_THAT(refusal({"--set", "net.allow=pypi.org,127.1"}),
              AllOf(HasSubstr("net.allow (flag --set)"), HasSubstr("'127.1'")));
  EXPECT_THAT(refusal({"--set", "net.deny=a b"}), HasSubstr("net.deny"));
  EXPECT_THAT(refusal({"--set", "net.opened=10.0.0.1/8"}), HasSubstr("net.opened"));
  EXPECT_THAT(refusal({"--set", "net.resolvers=dns.example"}), HasSubstr("net.resolvers"));
  EXPECT_THAT(refusal({"--set", "net.ceiling=some"}), HasSubstr("none"));
  EXPECT_EQ(refusal({"--set", "net.allow=pypi.org,*.example.com:443", "--set",
                     "net.opened=10.1.2.0/24", "--set", "net.resolvers=192.0.2.53:5353"}),
            "accepted");
}

TEST_F(Load, RefusesIndexesThatCannotBeReachedOrContainAPassword) {
  EXPECT_THAT(refusal({"--set", "deps.index_url=pypi.org"}),
              HasSubstr("deps.index_url (flag --set) must be an address like https://"));
  EXPECT_THAT(refusal({"--set", "deps.npm_registry=http://localhost:4873"}),
              AllOf(HasSubstr("deps.npm_registry (flag --set)"), HasSubstr("loopback")));
  write("[deps]\nextra_index_urls = ['https://a.example/', 'https://me:topsecret@b.example/']\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("deps.extra_index_urls (file " + process_.file + ":2)"),
                               HasSubstr("password"), Not(HasSubstr("topsecret"))));
  write("[deps]\nfile_hosts = ['*']\n");
  EXPECT_THAT(refusal(), HasSubstr("deps.file_hosts (file " + process_.file + ":2) would let"));
  write(
      "[deps]\nindex_url = 'http://10.0.0.7:3141/simple'\nfile_hosts = ['files.example:80']\n"
      "pip_config = ''\nca_bundle = 'relative.pem'\n");
  const auto loaded = load_with({});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->settings.deps_pip_config, "");
  EXPECT_EQ(loaded->settings.deps_npm_config, "/etc/npmrc");
  EXPECT_TRUE(loaded->settings.deps_ca_bundle.starts_with('/'));
}

TEST_F(Load, LeavesOtherArgumentsInTheirOrder) {
  const auto loaded = load_with({"--stop", "--listen", "127.0.0.1:1", "--control-fd", "3"});
  EXPECT_THAT(loaded->rest, ElementsAre("--stop", "--control-fd", "3"));
  EXPECT_THAT(refusal({"--listen"}), HasSubstr("needs a value"));
  EXPECT_THAT(refusal({"--data-dir="}), HasSubstr("needs a value"));
}

TEST_F(Load, AsArgumentsGivesTheSameSettingsElsewhere) {
  write("[server]\norigins = ['https://a', 'https://b']\nmax_body = '5M'\n");
  const auto loaded = load_with({"--set", "store.retention_age=off"});
  const std::vector<std::string> arguments = as_arguments(loaded->table);
  ProcessEnvironment elsewhere;
  elsewhere.variables = {"GLOVEBOX_SERVER_MAX_BODY=6M", "GLOVEBOX_SERVER_TYPO=1"};
  const auto again = load(arguments, elsewhere);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(again->settings.max_body, 5u << 20);
  EXPECT_EQ(again->settings.origins, loaded->settings.origins);
  EXPECT_EQ(again->settings.retention_age.count(), 0);
  EXPECT_EQ(again->settings.data_dir, "/var/lib/glovebox");
  for (const char* key : {"server.max_body", "server.origins", "log.level"}) {
    EXPECT_EQ(origin(*again, key), origin(*loaded, key)) << key;
  }
}

TEST_F(Load, ThePublicAddressIsAnOriginOfHttps) {
  for (const char* good : {"", "https://glovebox.example.com", "https://a-b.test:8443"}) {
    EXPECT_TRUE(load_with({"--set", std::string("server.public_url=") + good})) << good;
  }
  for (const char* bad : {"http://glovebox.example.com", "https://", "https://a.test/", "a.test",
                          "https://A.test", "https://a.test:443", "https://a.test:", "https://u@a",
                          "https://a.test:123456", "https://.test", "https://a.test?x"}) {
    EXPECT_FALSE(load_with({"--set", std::string("server.public_url=") + bad})) << bad;
  }
}

TEST_F(Load, TheServersUidFollowsTheLaunchersPolicy) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to own a file as root";
  process_.policy = directory_ + "/policy.toml";
  EXPECT_EQ(load_with({})->settings.uid, 1879048192u);
  std::ofstream(process_.policy) << "[uids]\nfirst = 655360\nlast = 1310719\n";
  const auto loaded = load_with({});
  EXPECT_EQ(loaded->settings.uid, 655360u);
  EXPECT_EQ(origin(*loaded, "server.uid"), "policy " + process_.policy);
}

TEST_F(Load, TakesTheWordsOfWorkspaceUsers) {
  process_.variables = {"SANDBOX_CPU_QUOTA=0.5",      "SANDBOX_MEMORY_LIMIT=131072",
                        "SANDBOX_TIMEOUT_SECONDS=20", "SANDBOX_ALLOW_NETWORK=true",
                        "SANDBOX_POOL_SIZE=4",        "SANDBOX_OF_SOMEBODY=else"};
  const auto loaded = load_with({});
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(loaded->settings.workspace_cpu_quota, "0.5");
  EXPECT_EQ(loaded->settings.workspace_memory_limit, 131072u);
  EXPECT_EQ(loaded->settings.workspace_timeout_seconds, 20u);
  EXPECT_TRUE(loaded->settings.workspace_allow_network);
  EXPECT_EQ(loaded->settings.workspace_pool_size, 4u);
  EXPECT_EQ(origin(*loaded, "workspace.cpu_quota"), "environment SANDBOX_CPU_QUOTA");
  EXPECT_TRUE(check_servable(*loaded));
}

TEST_F(Load, RefusesToServeWhatItCannotDo) {
  for (const char* variable :
       {"SANDBOX_POOL_SIZE=129", "SANDBOX_CPU_QUOTA=many", "SANDBOX_MEMORY_LIMIT=100"}) {
    process_.variables = {variable};
    const auto loaded = load_with({});
    ASSERT_TRUE(loaded) << variable;  // for commands that serve nothing
    const auto servable = check_servable(*loaded);
    ASSERT_FALSE(servable) << variable;
    const std::string name = std::string(variable).substr(0, std::string(variable).find('='));
    EXPECT_THAT(servable.error().message(), HasSubstr(name));
  }
  process_.variables = {"SANDBOX_TIMEOUT_SECONDS=0"};
  EXPECT_THAT(refusal(), HasSubstr("workspace.timeout_seconds"));
}

}  // namespace
}  // namespace glovebox::config
