#include "config/image_registries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::config {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> hosts_of(const ImageRegistry& registry) {
  std::vector<std::string> texts;
  for (const net::NetRule& rule : registry.rules) texts.push_back(rule.text());
  return texts;
}

ImageRegistry one(const std::string& entry) {
  auto all = parse_image_registries({entry});
  return all && all->size() == 1 ? all->front() : ImageRegistry{};
}

std::string refusal(const std::vector<std::string>& entries) {
  const auto all = parse_image_registries(entries);
  return all ? "" : all.error().message();
}

TEST(ImageRegistries, ABareHostIsReachedByHttpsAndNothingElseIs) {
  const ImageRegistry registry = one("registry.example:5000");
  EXPECT_EQ(registry.name, "registry.example:5000");
  EXPECT_EQ(registry.url, "https://registry.example:5000");
  EXPECT_THAT(hosts_of(registry), ElementsAre("registry.example:5000"));
  EXPECT_THAT(hosts_of(one("registry.example")), ElementsAre("registry.example:443"));
}

TEST(ImageRegistries, PlainHttpIsOnlyForThoseThatSayIt) {
  const ImageRegistry registry = one("http://registry.test?host=auth.test&host=blobs.test:8080");
  EXPECT_EQ(registry.name, "registry.test");
  EXPECT_EQ(registry.url, "http://registry.test");
  EXPECT_THAT(hosts_of(registry),
              ElementsAre("registry.test:80", "auth.test:80", "blobs.test:8080"));
}

TEST(ImageRegistries, DockersOwnHasTheHostsOfItsTokensAndBlobs) {
  const ImageRegistry registry = one("docker.io");
  EXPECT_EQ(registry.url, "https://registry-1.docker.io");
  EXPECT_THAT(hosts_of(registry), Contains("auth.docker.io:443"));
  EXPECT_THAT(hosts_of(registry), Contains("registry-1.docker.io:443"));
}

TEST(ImageRegistries, AMirrorAndCertificatesBelongToOneRegistry) {
  const ImageRegistry registry = one("docker.io?mirror=https://mirror.corp:8443/hub&ca=/etc/c.pem");
  EXPECT_EQ(registry.mirror, "https://mirror.corp:8443/hub");
  EXPECT_EQ(registry.ca_file, "/etc/c.pem");
  EXPECT_THAT(hosts_of(registry), Contains("mirror.corp:8443"));
}

TEST(ImageRegistries, MistakesAreNamedWithTheEntry) {
  EXPECT_THAT(refusal({"https://user:secret@registry.example"}), HasSubstr("has a password"));
  EXPECT_THAT(refusal({"registry.example/team"}), HasSubstr("has a path"));
  EXPECT_THAT(refusal({"registry.example?hosts=x.example"}), HasSubstr("unknown option"));
  EXPECT_THAT(refusal({"registry.example?host=*"}), HasSubstr("every host"));
  EXPECT_THAT(refusal({"registry.example?host=10.0.0.0/8"}), HasSubstr("range of addresses"));
  EXPECT_THAT(refusal({"registry.example?host=x.example:1-99"}), HasSubstr("range of ports"));
  EXPECT_THAT(refusal({"registry.example?ca=c.pem"}), HasSubstr("absolute path"));
  EXPECT_THAT(refusal({"http://127.0.0.1:5000"}), HasSubstr("loopback"));
  EXPECT_THAT(refusal({"http://169.254.169.254"}), HasSubstr("cannot be reached"));
  EXPECT_THAT(refusal({"quay.io", "http://quay.io:443"}), IsEmpty());
  EXPECT_THAT(refusal({"quay.io", "quay.io?host=x.example"}), HasSubstr("a second time"));
}

TEST(ImageRegistries, AllRulesTogetherAreWhatTheGatewayAllows) {
  Settings settings;
  settings.image_registries = {"one.example", "two.example?host=one.example"};
  const auto rules = registry_rules(settings);
  ASSERT_TRUE(rules.has_value());
  EXPECT_EQ(rules->size(), 2u);
}

TEST(ImageRegistries, ARegistryWithoutItsCertificatesIsNotUsed) {
  Settings settings;
  settings.image_registries = {"one.example?ca=/nowhere/ca.pem", "two.example"};
  const std::vector<ImageRegistry> all = read_image_registries(settings);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "two.example");
}

}  // namespace
}  // namespace glovebox::config
