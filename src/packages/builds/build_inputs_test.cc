// The input files of a build's first sandbox, and the secrets in them.
#include "packages/builds/build_inputs.h"

#include <gtest/gtest.h>

namespace glovebox::packages {
namespace {

config::PackageIndexes indexes() {
  config::PackageIndexes all;
  all.pip_index = "https://bob:pass%40word@pypi.example/simple";
  all.pip_extra_indexes = {"https://tokenalone@extra.example/simple", "http://plain.example/"};
  all.pip_trusted_hosts = {"plain.example"};
  all.npm_registry = "https://npm.example/";
  all.npmrc_lines = {"//npm.example/:_authToken=npmtoken", "strict-ssl=true"};
  all.ca_bundle = "pem";
  return all;
}

TEST(BuildInputs, TheRequestHasOnlySetFields) {
  Dependencies wanted;
  wanted.packages = {"a>=1", "b"};
  wanted.preload = {"a"};
  EXPECT_EQ(package_request_json(wanted), R"({"packages":["a>=1","b"]})");
  Dependencies file;
  file.requirements = "a==1 \\\n --hash=sha256:x\n";
  EXPECT_EQ(package_request_json(file), R"({"requirements":"a==1 \\\n --hash=sha256:x\n"})");
}

TEST(BuildInputs, PipConfHasEveryIndex) {
  EXPECT_EQ(pip_conf(indexes()),
            "[global]\n"
            "index-url = https://bob:pass%40word@pypi.example/simple\n"
            "extra-index-url =\n"
            "    https://tokenalone@extra.example/simple\n"
            "    http://plain.example/\n"
            "trusted-host =\n"
            "    plain.example\n"
            "cert = /home/user/in/ca.pem\n");
  EXPECT_EQ(pip_conf({}), "[global]\n");
}

TEST(BuildInputs, NpmrcHasTheRegistry) {
  EXPECT_EQ(npmrc(indexes()),
            "registry=https://npm.example/\n"
            "//npm.example/:_authToken=npmtoken\n"
            "strict-ssl=true\n"
            "cafile=/home/user/in/ca.pem\n");
}

TEST(BuildInputs, ASettingIsOneLine) {
  config::PackageIndexes odd;
  odd.pip_index = "https://x/\nno-index = true";
  EXPECT_EQ(pip_conf(odd), "[global]\nindex-url = https://x/no-index = true\n");
}

TEST(BuildInputs, FindsSecretsInEverySpelling) {
  EXPECT_EQ(secrets_of(indexes()),
            (std::vector<std::string>{"pass%40word", "tokenalone", "pass@word", "npmtoken"}));
  EXPECT_TRUE(secrets_of({}).empty());
}

}  // namespace
}  // namespace glovebox::packages
