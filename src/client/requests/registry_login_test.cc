#include "client/requests/registry_login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

Result<std::optional<std::string>> no_helper(const std::string& name, const std::string&) {
  return fail(Errc::kUnavailable, "no helper " + name);
}

std::string auth(const std::string& pair) { return base64_encode(pair); }

TEST(RegistryLogin, ANameWithoutARegistryIsDockers) {
  EXPECT_EQ(registry_of_image("python:3"), "docker.io");
  EXPECT_EQ(registry_of_image("team/base"), "docker.io");
  EXPECT_EQ(registry_of_image("registry.example:5000/team/base:1"), "registry.example:5000");
  EXPECT_EQ(registry_of_image("localhost/x"), "localhost");
}

TEST(RegistryLogin, IsReadInEveryFormThatToolsWrite) {
  const std::string file = R"({"auths": {"https://index.docker.io/v1/": {"auth": ")" +
                           auth("me:pass:word") + R"("}, "b.example": {"identitytoken": "it"},
                           "c.example": {"registrytoken": "rt"}, "d.example": {}}})";
  EXPECT_EQ(login_in_file(file, "docker.io", no_helper)->username, "me");
  EXPECT_EQ(login_in_file(file, "docker.io", no_helper)->password, "pass:word");
  EXPECT_EQ(login_in_file(file, "b.example", no_helper)->identity_token, "it");
  EXPECT_EQ(login_in_file(file, "c.example", no_helper)->registry_token, "rt");
  EXPECT_TRUE(login_in_file(file, "d.example", no_helper)->empty());
  EXPECT_TRUE(login_in_file(file, "e.example", no_helper)->empty());
}

TEST(RegistryLogin, AHelperOfTheRegistryComesBeforeTheStore) {
  const std::string file =
      R"({"credsStore": "desktop", "credHelpers": {"a.example": "cloud"},
          "auths": {"b.example": {"auth": ")" +
      auth("b:c") + R"("}}})";
  std::vector<std::string> asked;
  const CredentialHelper helper = [&](const std::string& name,
                                      std::string input) -> Result<std::optional<std::string>> {
    asked.push_back(name + " " + input);
    if (name == "cloud") return R"({"Username": "<token>", "Secret": "s"})";
    return std::nullopt;
  };
  EXPECT_EQ(login_in_file(file, "a.example", helper)->identity_token, "s");
  EXPECT_EQ(login_in_file(file, "b.example", helper)->password, "c");
  EXPECT_TRUE(login_in_file(file, "docker.io", helper)->empty());
  EXPECT_THAT(asked, ::testing::ElementsAre("cloud a.example", "desktop b.example",
                                            "desktop https://index.docker.io/v1/"));
}

TEST(RegistryLogin, WhatCannotBeReadIsAnError) {
  EXPECT_FALSE(login_in_file("[", "a.example", no_helper));
  EXPECT_FALSE(login_in_file(R"({"auths": {"a.example": {"auth": "!"}}})", "a.example", no_helper));
  EXPECT_FALSE(login_in_file(R"({"credsStore": "../x"})", "a.example", no_helper));
  const auto failed = login_in_file(R"({"credsStore": "x"})", "a.example", no_helper);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("no helper x"));
}

}  // namespace
}  // namespace glovebox::client
