#include "config/package_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace glovebox::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kCertificate =
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
constexpr const char* kOther = "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n";

class PackageIndex : public ::testing::Test {
 protected:
  PackageIndex() {
    std::string made = std::filesystem::temp_directory_path() / "gbx-index-XXXXXX";
    dir_ = ::mkdtemp(made.data());
    settings.deps_pip_config = dir_ + "/pip.conf";
    settings.deps_npm_config = dir_ + "/npmrc";
    write("pip.conf", "");
    write("npmrc", "");
    settings.deps_ca_bundle = write("ca.pem", kCertificate);
  }
  ~PackageIndex() override { std::filesystem::remove_all(dir_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = dir_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0644);
    return path;
  }
  Result<PackageIndexes> read() { return read_package_indexes(settings, variable()); }
  Result<std::vector<net::NetRule>> rules() { return index_rules(settings, variable()); }
  Variable variable() {
    return [this](const char* name) -> std::optional<std::string> {
      const auto at = environment.find(name);
      return at == environment.end() ? std::nullopt : std::optional(at->second);
    };
  }
  static std::vector<std::string> texts(const std::vector<net::NetRule>& rules) {
    std::vector<std::string> made;
    for (const net::NetRule& rule : rules) made.push_back(rule.text());
    return made;
  }
  std::string error() {
    const auto indexes = read();
    return indexes ? "" : indexes.error().message();
  }

  Settings settings;
  std::map<std::string, std::string> environment;
  std::string dir_;
};

TEST_F(PackageIndex, DefaultsToPyPiAndTheNpmRegistry) {
  const auto indexes = read();
  ASSERT_TRUE(indexes) << indexes.error().message();
  EXPECT_EQ(indexes->pip_index, "https://pypi.org/simple");
  EXPECT_THAT(indexes->pip_extra_indexes, IsEmpty());
  EXPECT_EQ(indexes->npm_registry, "https://registry.npmjs.org");
  EXPECT_THAT(texts(indexes->pip_rules), ElementsAre("pypi.org:443", "files.pythonhosted.org:443"));
  EXPECT_THAT(texts(indexes->npm_rules), ElementsAre("registry.npmjs.org:443"));
  EXPECT_EQ(indexes->ca_bundle, kCertificate);
  EXPECT_EQ(indexes->shown_pip(), "https://pypi.org/simple");
  EXPECT_EQ(indexes->shown_npm(), "https://registry.npmjs.org");
}

TEST_F(PackageIndex, SettingsGoBeforeTheEnvironmentAndThatBeforeFiles) {
  write("pip.conf",
        "[global]\nindex-url = http://u:p@file.corp/simple\ntrusted-host = file.corp\n");
  write("npmrc",
        "registry=http://npm-file.corp/\n//npm-file.corp/:_authToken=t\n//npm-env.corp/:_auth=e\n");
  auto indexes = read();
  ASSERT_TRUE(indexes) << indexes.error().message();
  EXPECT_EQ(indexes->pip_index, "http://u:p@file.corp/simple");
  EXPECT_THAT(indexes->pip_trusted_hosts, ElementsAre("file.corp"));
  EXPECT_THAT(texts(indexes->pip_rules), ElementsAre("file.corp:80"));
  EXPECT_THAT(texts(indexes->npm_rules), ElementsAre("npm-file.corp:80"));
  EXPECT_THAT(indexes->npmrc_lines, ElementsAre("//npm-file.corp/:_authToken=t"));
  EXPECT_EQ(indexes->shown_pip(), "http://file.corp/simple");

  environment = {{"PIP_INDEX_URL", "https://t@env.corp:8443/simple"},
                 {"PIP_EXTRA_INDEX_URL", "https://e1.corp/s  https://x:y@e2.corp/s"},
                 {"PIP_TRUSTED_HOST", "env.corp:8443"},
                 {"npm_config_registry", "https://npm-env.corp/"}};
  indexes = read();
  ASSERT_TRUE(indexes) << indexes.error().message();
  EXPECT_EQ(indexes->pip_index, "https://t@env.corp:8443/simple");
  EXPECT_THAT(texts(indexes->pip_rules),
              ElementsAre("env.corp:8443", "e1.corp:443", "e2.corp:443"));
  EXPECT_THAT(indexes->pip_trusted_hosts, ElementsAre("env.corp:8443"));
  EXPECT_EQ(indexes->npm_registry, "https://npm-env.corp/");
  EXPECT_THAT(indexes->npmrc_lines, ElementsAre("//npm-env.corp/:_auth=e"));
  EXPECT_EQ(indexes->shown_pip(),
            "https://env.corp:8443/simple https://e1.corp/s https://e2.corp/s");

  settings.deps_index_url = "https://set.corp/simple";
  settings.deps_extra_index_urls = {"http://10.0.0.7:3141/simple"};
  settings.deps_npm_registry = "https://npm-set.corp";
  settings.deps_file_hosts = {"files.corp", "files.corp:80"};
  indexes = read();
  ASSERT_TRUE(indexes) << indexes.error().message();
  EXPECT_THAT(texts(indexes->pip_rules),
              ElementsAre("set.corp:443", "10.0.0.7/32:3141", "files.corp:443", "files.corp:80"));
  EXPECT_THAT(texts(indexes->npm_rules),
              ElementsAre("npm-set.corp:443", "files.corp:443", "files.corp:80"));
  EXPECT_THAT(indexes->npmrc_lines, IsEmpty());
}

TEST_F(PackageIndex, WordsOfNpmAreForTheRegistrysHostAndPathOnly) {
  settings.deps_npm_registry = "https://npm.corp/team";
  write("npmrc",
        "//npm.corp/:_authToken=root\n"
        "//npm.corp/team/:_password=team\n"
        "//npm.corp/tea/:_authToken=no\n"
        "//npm.corp/team/sub/:_authToken=no\n"
        "//npm.corp:8443/:_authToken=no\n"
        "//evil.npm.corp/:_authToken=no\n");
  const auto indexes = read();
  ASSERT_TRUE(indexes) << indexes.error().message();
  EXPECT_THAT(indexes->npmrc_lines,
              ElementsAre("//npm.corp/:_authToken=root", "//npm.corp/team/:_password=team"));
}

TEST_F(PackageIndex, APasswordInASettingIsRefusedAndNotRepeated) {
  for (std::string Settings::*member : {&Settings::deps_index_url, &Settings::deps_npm_registry}) {
    settings.*member = "https://me:topsecret@a.corp/";
    EXPECT_THAT(error(), HasSubstr("a user or a password"));
    EXPECT_THAT(error(), Not(HasSubstr("topsecret")));
    EXPECT_FALSE(check_index_settings(settings));
    settings.*member = "";
  }
  settings.deps_extra_index_urls = {"https://topsecret@a.corp/"};
  EXPECT_THAT(error(), HasSubstr("deps.extra_index_urls contains a user"));
  settings.deps_extra_index_urls = {};
  EXPECT_TRUE(check_index_settings(settings));
}

TEST_F(PackageIndex, ErrorsSayWhoseFaultItIs) {
  environment["PIP_INDEX_URL"] = "http://localhost:3141/simple";
  EXPECT_THAT(error(), HasSubstr("environment PIP_INDEX_URL is on loopback"));
  environment.clear();
  write("pip.conf", "[global]\n\nindex-url = /srv/simple\n");
  EXPECT_THAT(error(), HasSubstr(dir_ + "/pip.conf:3 must be an address"));
  write("pip.conf", "[global]\nextra-index-url = https://a.corp/ nonsense\n");
  EXPECT_THAT(error(), HasSubstr(dir_ + "/pip.conf:2 must be an address"));
  write("pip.conf", "[global]\ntrusted-host = *\n");
  EXPECT_THAT(error(), HasSubstr(dir_ + "/pip.conf:2 must be a host"));
  write("pip.conf", "");
  settings.deps_file_hosts = {"*"};
  EXPECT_THAT(error(), HasSubstr("deps.file_hosts would let a build reach every host"));
}

TEST_F(PackageIndex, CertificatesComeFromWhereTheyAreSaidToBe) {
  const std::string other = write("other.pem", kOther);
  write("pip.conf", "[global]\ncert = " + settings.deps_ca_bundle + "\n");
  write("npmrc", "cafile=" + other + "\n");
  settings.deps_ca_bundle = "";
  EXPECT_EQ(read()->ca_bundle, std::string(kCertificate) + kOther);
  environment["PIP_CERT"] = other;
  EXPECT_EQ(read()->ca_bundle, kOther);
  environment["PIP_CERT"] = "";
  environment["SSL_CERT_FILE"] = dir_ + "/missing.pem";
  EXPECT_THAT(error(), HasSubstr("environment SSL_CERT_FILE"));
  settings.deps_ca_bundle = write("key.pem", "-----BEGIN PRIVATE KEY-----\nA\n");
  EXPECT_THAT(error(), HasSubstr("contains no PEM certificate"));
  settings.deps_ca_bundle = "relative.pem";
  EXPECT_THAT(error(), HasSubstr("absolute"));
}

TEST_F(PackageIndex, AFileThatWasNamedIsThere) {
  settings.deps_pip_config = dir_ + "/mistyped.conf";
  EXPECT_THAT(error(), HasSubstr("mistyped.conf")) << "else it would be the public index";
  settings.deps_pip_config = "";
  EXPECT_TRUE(read());
}

TEST_F(PackageIndex, RootBelievesNoFileThatOthersMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is careful here";
  const std::string path = write("pip.conf", "[global]\nindex-url = https://evil.corp/simple\n");
  ASSERT_TRUE(read());
  ::chmod(path.c_str(), 0666);
  EXPECT_THAT(error(), HasSubstr("writable by root only"));
}

TEST_F(PackageIndex, ABuildMayReachTheIndexesAndNothingElse) {
  settings.deps_enabled = true;
  settings.deps_index_url = "http://mirror.corp:3141/simple";
  settings.deps_ca_bundle = "/nowhere";  // the gateway does not read it
  const auto allowed = rules();
  ASSERT_TRUE(allowed) << allowed.error().message();
  EXPECT_THAT(texts(*allowed), ElementsAre("mirror.corp:3141", "registry.npmjs.org:443"));
  const net::NetCeiling most = build_ceiling(*allowed);
  EXPECT_EQ(most.policy.base, net::NetBase::kNone);
  EXPECT_EQ(most.policy.allow, *allowed);
  EXPECT_TRUE(most.any_address);
  EXPECT_TRUE(most.policy.budgets.bytes_out && most.policy.budgets.connections &&
              most.policy.budgets.names);
  settings.deps_enabled = false;
  EXPECT_THAT(*rules(), IsEmpty());
}

TEST_F(PackageIndex, OnlyKnownVariablesAreAskedFor) {
  std::vector<std::string> asked;
  const Variable ask = [&](const char* name) -> std::optional<std::string> {
    asked.emplace_back(name);
    return std::nullopt;
  };
  settings.deps_ca_bundle = "";
  ASSERT_TRUE(read_package_indexes(settings, ask));
  for (const std::string& name : asked) {
    EXPECT_THAT(index_variables(), ::testing::Contains(::testing::StrEq(name)));
  }
  EXPECT_EQ(asked.size(), index_variables().size());
}

}  // namespace
}  // namespace glovebox::config
