// tests/vectors/profiles.json: test vectors with which SDKs check their own hashing.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "model/profile.h"
#include "store/sha256.h"
#include "wire/json/strict_json.h"
#include "wire/runs/profile_request.h"

namespace glovebox::runs {
namespace {

namespace json = boost::json;

Result<json::value> read_vectors() {
  std::ifstream file(std::string(GBX_SOURCE_DIR) + "/tests/vectors/profiles.json");
  std::stringstream text;
  text << file.rdbuf();
  return wire::parse_strict_json(text.str());
}

TEST(ProfileVectors, EverySpellingHasTheTextAndTheHash) {
  const auto document = read_vectors();
  ASSERT_TRUE(document) << document.error().message();
  std::size_t spellings = 0;
  for (const json::value& vector : document->at("vectors").as_array()) {
    const std::string canonical(vector.at("canonical").as_string());
    EXPECT_EQ(store::sha256_hex(canonical), vector.at("sha256").as_string());
    for (const json::value& spelling : vector.at("spellings").as_array()) {
      const auto parsed = wire::read_profile_request(spelling, "profile");
      ASSERT_TRUE(parsed) << parsed.error().message();
      EXPECT_EQ(canonical_text(fill_in(*parsed, Limits{})), canonical) << spelling;
      ++spellings;
    }
  }
  EXPECT_GE(spellings, 60u);
}

TEST(ProfileVectors, InvalidProfilesAreRefusedWithTheirField) {
  const auto document = read_vectors();
  ASSERT_TRUE(document) << document.error().message();
  std::size_t refused = 0;
  for (const json::value& one : document->at("refused").as_array()) {
    const auto parsed = wire::read_profile_request(one.at("profile"), "profile");
    const std::string at(one.at("at").as_string());
    ASSERT_FALSE(parsed) << one;
    EXPECT_TRUE(parsed.error().message().starts_with(at + ": ")) << parsed.error().message();
    ++refused;
  }
  EXPECT_GE(refused, 60u);
}

TEST(Digest, MatchesTheKnownVector) {
  EXPECT_EQ(store::sha256_hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace glovebox::runs
