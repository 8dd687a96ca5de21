#include "config/package_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PipFile pip(std::string_view text) {
  auto file = parse_pip_config(text, "pip.conf");
  EXPECT_TRUE(file) << file.error().message();
  return file ? *file : PipFile{};
}
NpmFile npm(std::string_view text) {
  auto file = parse_npm_config(text, "npmrc");
  EXPECT_TRUE(file) << file.error().message();
  return file ? *file : NpmFile{};
}
std::string pip_error(std::string_view text) {
  const auto file = parse_pip_config(text, "pip.conf");
  return file ? "" : file.error().message();
}

TEST(PipConfig, IsReadAsPipReadsIt) {
  const PipFile file =
      pip("# of this host\n"
          "[global]\r\n"
          "Index_URL : https://u:p@mirror/simple\r\n"
          "timeout = 60\n"
          "extra-index-url =\n"
          "    https://one/simple\n"
          "    # a comment between\n"
          "\n"
          "    https://two/simple https://three/simple\n"
          "cert = /etc/ca.pem\n"
          "[freeze]\n"
          "trusted-host = elsewhere\n"
          "index-url =\n"
          "   a\n"
          "[install]\n"
          "trusted-host = one\n"
          "\ttwo:8080\n");
  EXPECT_EQ(file.index, (SourcedValue{"https://u:p@mirror/simple", "pip.conf:3"}));
  EXPECT_THAT(file.extra_indexes, ElementsAre(SourcedValue{"https://one/simple", "pip.conf:5"},
                                              SourcedValue{"https://two/simple", "pip.conf:5"},
                                              SourcedValue{"https://three/simple", "pip.conf:5"}));
  EXPECT_THAT(file.trusted_hosts, ElementsAre(SourcedValue{"one", "pip.conf:16"},
                                              SourcedValue{"two:8080", "pip.conf:16"}));
  EXPECT_EQ(file.cert, (SourcedValue{"/etc/ca.pem", "pip.conf:10"}));
}

TEST(PipConfig, ACommandsSectionIsAskedBeforeGlobal) {
  EXPECT_EQ(pip("[install]\nindex-url=i\n[global]\nindex-url=g\n").index->text, "i");
  EXPECT_EQ(pip("[install]\nindex-url=i\n[download]\nindex-url=d\n").index->text, "d");
  EXPECT_EQ(pip("[download]\nindex-url=\n[global]\nindex-url=g\n").index->text, "g");
  EXPECT_FALSE(pip("[wheel]\nindex-url=w\n").index);
  EXPECT_FALSE(pip("").index);
  EXPECT_EQ(pip("\xef\xbb\xbf[global]\nindex-url=g").index->text, "g");
}

TEST(PipConfig, WhatPipWouldNotTakeIsAnErrorWithItsLine) {
  EXPECT_THAT(pip_error("index-url = x\n"), HasSubstr("pip.conf:1: is before"));
  EXPECT_THAT(pip_error("[global]\nindex-url\n"), HasSubstr("pip.conf:2: is not of the form"));
  EXPECT_THAT(pip_error("[global\nindex-url=x\n"), HasSubstr("pip.conf:1: a section"));
  EXPECT_THAT(pip_error("[global]\nindex-url=x\nindex_url=y\n"),
              HasSubstr("pip.conf:3: 'index-url'"));
  EXPECT_THAT(pip_error("[]\n"), HasSubstr("pip.conf:1"));
  EXPECT_THAT(pip_error("[global]\n[a]\n[global]\n"), HasSubstr("pip.conf:3: this section"));
}

TEST(NpmConfig, GivesTheRegistryAndWhatItIsAskedWith) {
  const NpmFile file =
      npm("; of this host\n"
          "fund=false\n"
          "audit\n"
          "registry = \"https://npm.corp/team/\" \n"
          "cafile=/etc/ca.pem ; the company's\n"
          "//NPM.corp/team/:_authToken=abc\\;def\n"
          "//npm.corp/:username=me\n"
          "//other:8080/:_auth=eA==\n"
          "//npm.corp/:certfile=/home/me/cert\n"
          "@scope:registry=https://elsewhere/\n"
          "[section]\n"
          "registry=https://not.read/\n");
  EXPECT_EQ(file.registry, (SourcedValue{"https://npm.corp/team/", "npmrc:4"}));
  EXPECT_EQ(file.cafile, (SourcedValue{"/etc/ca.pem", "npmrc:5"}));
  ASSERT_EQ(file.credentials.size(), 3u);
  EXPECT_EQ(file.credentials[0].host, "npm.corp");
  EXPECT_EQ(file.credentials[0].path, "/team");
  EXPECT_EQ(file.credentials[0].value, "abc;def");
  EXPECT_EQ(npm_line(file.credentials[0]), "//npm.corp/team/:_authToken=\"abc;def\"");
  EXPECT_EQ(npm_line(file.credentials[1]), "//npm.corp/:username=me");
  EXPECT_EQ(npm_line(file.credentials[2]), "//other:8080/:_auth=eA==");
  EXPECT_THAT(file.left_out, IsEmpty());
}

TEST(NpmConfig, WhatIsNotExpandedIsLeftOutAndSaid) {
  const NpmFile file =
      npm("//npm.corp/:_authToken=${NPM_TOKEN}\n"
          "_authToken=topsecret\n"
          "ca=\"-----BEGIN CERTIFICATE-----\\ntopsecret\"\n");
  EXPECT_THAT(file.credentials, IsEmpty());
  ASSERT_EQ(file.left_out.size(), 3u);
  EXPECT_THAT(file.left_out[0], HasSubstr("npmrc:1: contains ${...}"));
  for (const std::string& line : file.left_out) EXPECT_THAT(line, Not(HasSubstr("topsecret")));
  const auto registry = parse_npm_config("x=y\nregistry=https://${HOST}/\n", "npmrc");
  ASSERT_FALSE(registry);
  EXPECT_THAT(registry.error().message(), HasSubstr("npmrc:2: contains ${...}"));
}

TEST(NpmConfig, AValueThatWouldBeTwoLinesOrWordsIsRefused) {
  EXPECT_FALSE(parse_npm_config("//a/:_authToken=a b\n", "npmrc"));
  EXPECT_FALSE(parse_npm_config("//a/:_authToken=\"a\\nregistry=evil\"\n", "npmrc"));
  EXPECT_FALSE(parse_npm_config("//a/:_authToken=" + std::string(5000, 'a'), "npmrc"));
  EXPECT_FALSE(parse_npm_config(std::string("registry=https://a\0b/\n", 22), "npmrc"));
}

TEST(Certificates, AreAllThatIsTakenOfAFile) {
  const std::string one = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----";
  const std::string two = "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----";
  const std::string key = "-----BEGIN PRIVATE KEY-----\nKKKK\n-----END PRIVATE KEY-----";
  EXPECT_EQ(only_certificates("# mine\n" + one + "\n" + key + "\n" + two), one + "\n" + two + "\n");
  EXPECT_EQ(only_certificates(key), "");
  EXPECT_EQ(only_certificates("-----BEGIN CERTIFICATE-----\nAAAA"), "");
  // One that never ends must not take a key with it.
  EXPECT_EQ(only_certificates("-----BEGIN CERTIFICATE-----\nAAAA\n" + key + "\n" + two),
            two + "\n");
}

}  // namespace
}  // namespace glovebox::config
