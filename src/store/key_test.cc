#include "store/key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/hex.h"
#include "store/key_ring.h"
#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

TEST(Secret, IsFortyHexDigitsAndNeverTheSame) {
  const std::string secret = make_secret();
  EXPECT_EQ(secret.size(), 44u);
  EXPECT_EQ(secret.substr(0, 4), "gbx_");
  EXPECT_TRUE(digest_of_secret(secret));
  EXPECT_NE(secret, make_secret());
}

TEST(Secret, DigestIsTheSha256OfItsHexDigits) {
  // printf 0123456789012345678901234567890123456789 | sha256sum
  EXPECT_EQ(hex_encode(digest_of_secret("gbx_0123456789012345678901234567890123456789").value()),
            "fb526cd4ad0ec978c1a9e78f7c0728711139978424d618eb228be59e21188970");
}

TEST(Secret, RefusesEveryOtherForm) {
  const std::string digits(40, 'a');
  for (const std::string& bad :
       {std::string(), digits, std::string("gbx_"), "xyz_" + digits, "gbx_" + digits + "a",
        "gbx_" + std::string(40, 'A'), "gbx_" + std::string(40, 'g'), "gbx-" + digits,
        "gbx_" + std::string(40, '\0')}) {
    EXPECT_FALSE(digest_of_secret(bad)) << bad;
  }
}

TEST(ProjectName, IsADnsLabelInSmallLetters) {
  EXPECT_TRUE(is_project_name("default"));
  EXPECT_TRUE(is_project_name("0-a"));
  EXPECT_TRUE(is_project_name(std::string(63, 'a')));
  EXPECT_FALSE(is_project_name(""));
  EXPECT_FALSE(is_project_name("-a"));
  EXPECT_FALSE(is_project_name("A"));
  EXPECT_FALSE(is_project_name("a/b"));
  EXPECT_FALSE(is_project_name(std::string(64, 'a')));
  EXPECT_TRUE(is_project_name("az-09"));
  for (const char* name : {"a`", "a{", "a/", "a:", "aZ", "a_", "a.b", "a b", "a\xc3\xa4"}) {
    EXPECT_FALSE(is_project_name(name)) << name;
  }
}

TEST(NewKeys, AreTakenUpToTheirBounds) {
  const auto taken = [](const NewKey& key) { return check_new_key(key).has_value(); };
  EXPECT_TRUE(taken({}));
  EXPECT_TRUE(taken({.name = std::string(100, 'a')}));
  EXPECT_FALSE(taken({.name = std::string(101, 'a')}));
  EXPECT_TRUE(taken({.name = "a b \xc3\xa4"}));
  for (const char* name : {"a\x1f", "\x01", "a\x7f", "a\n"}) EXPECT_FALSE(taken({.name = name}));
  EXPECT_TRUE(taken({.limits = {.runs_per_minute = 1'000'000}}));
  EXPECT_FALSE(taken({.limits = {.runs_per_minute = 1'000'001}}));
  EXPECT_TRUE(taken({.limits = {.max_memory_bytes = 1ull << 50}}));
  EXPECT_FALSE(taken({.limits = {.max_memory_bytes = (1ull << 50) + 1}}));
  EXPECT_FALSE(taken({.project = "-a"}));
}

using Keys = StoreTest;

TEST_F(Keys, FirstStartMakesOneAdminKeyAndNoSecond) {
  open();
  const Result<std::optional<std::string>> secret = store_->ensure_admin_key();
  ASSERT_TRUE(secret && *secret);
  EXPECT_FALSE(store_->ensure_admin_key().value());
  const std::optional<Principal> admin = store_->authenticate(**secret);
  ASSERT_TRUE(admin);
  EXPECT_TRUE(admin->is_admin());
  EXPECT_EQ(admin->project, "default");

  open();
  EXPECT_FALSE(store_->ensure_admin_key().value());
  EXPECT_TRUE(store_->authenticate(**secret));
}

TEST_F(Keys, ASecretProvesItsKeyAndProject) {
  open();
  const CreatedKey key = create_key({.project = "team", .name = "ci"}).value();
  const std::optional<Principal> principal = store_->authenticate(key.secret);
  ASSERT_TRUE(principal);
  EXPECT_EQ(principal->key, key.record.id);
  EXPECT_EQ(principal->project, "team");
  EXPECT_FALSE(principal->is_admin());
}

TEST_F(Keys, ASecretThatDiffersInOneDigitIsRefused) {
  open();
  const CreatedKey key = create_key({}).value();
  for (std::size_t i = 4; i < key.secret.size(); ++i) {
    std::string wrong = key.secret;
    wrong[i] = wrong[i] == '0' ? '1' : '0';
    EXPECT_FALSE(store_->authenticate(wrong)) << i;
  }
}

TEST_F(Keys, TheSecretIsNotInTheFiles) {
  open();
  const CreatedKey key = create_key({.name = "find-this-name"}).value();
  store_.reset();
  std::string all;
  for (const auto& file : std::filesystem::directory_iterator(options_.directory)) {
    std::ifstream in(file.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_NE(all.find("find-this-name"), std::string::npos);
  EXPECT_EQ(all.find(key.secret.substr(4)), std::string::npos);
}

TEST_F(Keys, ARevokedKeyStopsAtOnceAndStaysRevoked) {
  open();
  const CreatedKey key = create_key({}).value();
  ASSERT_TRUE(store_->authenticate(key.secret));
  // Before the store's thread has done anything about it.
  std::promise<void> done;
  store_->revoke_key("default", key.record.id, [&](Result<>) { done.set_value(); });
  EXPECT_FALSE(store_->authenticate(key.secret));
  done.get_future().wait();
  open();
  EXPECT_FALSE(store_->authenticate(key.secret));
}

TEST_F(Keys, RevokingIsForTheOwnProjectOnly) {
  open();
  const CreatedKey key = create_key({.project = "mine"}).value();
  EXPECT_EQ(revoke("other", key.record.id).error().code(), Errc::kNotFound);
  EXPECT_EQ(revoke("mine", KeyId::make()).error().code(), Errc::kNotFound);
  EXPECT_TRUE(store_->authenticate(key.secret));
  EXPECT_TRUE(revoke(std::nullopt, key.record.id));
  EXPECT_FALSE(store_->authenticate(key.secret));
}

TEST_F(Keys, TheLastAdminKeyCannotBeRevoked) {
  open();
  const std::string first = store_->ensure_admin_key().value().value();
  const KeyId id = store_->authenticate(first)->key;
  EXPECT_EQ(revoke(std::nullopt, id).error().code(), Errc::kPolicy);
  EXPECT_TRUE(store_->authenticate(first));
  ASSERT_TRUE(create_key({.role = KeyRole::kAdmin}));
  EXPECT_TRUE(revoke(std::nullopt, id));
  EXPECT_FALSE(store_->authenticate(first));
}

TEST_F(Keys, ListsAreByProjectAndSurviveAReopen) {
  open();
  const KeyLimits limits{.max_in_flight = 3, .runs_per_minute = 60, .max_memory_bytes = 5ull << 30};
  const CreatedKey a = create_key({.project = "a", .name = "one", .limits = limits}).value();
  const CreatedKey b = create_key({.project = "b"}).value();
  ASSERT_TRUE(store_->authenticate(a.secret));
  open();
  const auto of = [&](std::optional<std::string> project) {
    return answer_of<std::vector<KeyRecord>>([&](auto done) { store_->list_keys(project, done); })
        .value();
  };
  ASSERT_EQ(of("a").size(), 1u);
  EXPECT_EQ(of("a")[0].id, a.record.id);
  EXPECT_EQ(of("a")[0].name, "one");
  EXPECT_EQ(of("a")[0].limits, limits);
  EXPECT_TRUE(of("a")[0].last_used_ms);
  EXPECT_FALSE(of("b")[0].last_used_ms);
  EXPECT_EQ(of(std::nullopt).size(), 2u);
  EXPECT_EQ(store_->authenticate(a.secret)->limits, limits);
}

TEST_F(Keys, ABadNameOrProjectIsRefused) {
  open();
  EXPECT_EQ(create_key({.project = "No"}).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(create_key({.name = "a\nb"}).error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(create_key({.name = std::string(101, 'a')}).error().code(), Errc::kInvalidArgument);
}

TEST_F(Keys, ProjectsBeginWithDefaultAndGrow) {
  open();
  ASSERT_TRUE(create_key({.project = "made-by-key"}));
  ASSERT_TRUE(answer_of<void>([&](auto done) { store_->create_project("by-hand", done); }));
  EXPECT_FALSE(answer_of<void>([&](auto done) { store_->create_project("By Hand", done); }));
  EXPECT_EQ(
      answer_of<std::vector<std::string>>([&](auto done) { store_->list_projects(done); }).value(),
      (std::vector<std::string>{"by-hand", "default", "made-by-key"}));
}

TEST_F(Keys, TheDirectoryAndItsFilesArePrivate) {
  std::filesystem::create_directory(options_.directory);
  std::filesystem::permissions(options_.directory, std::filesystem::perms(0755));
  open();
  ASSERT_TRUE(create_key({}));
  struct stat facts {};
  ASSERT_EQ(::stat(options_.directory.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
  for (const auto& file : std::filesystem::directory_iterator(options_.directory)) {
    ASSERT_EQ(::stat(file.path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u) << file.path();
  }
}

}  // namespace
}  // namespace glovebox::store
