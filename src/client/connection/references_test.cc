#include "client/connection/references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

const std::vector<Reference> kSandboxes = {{"sbaaaa0000000000000000", "dev"},
                                           {"sbaaab0000000000000000", ""},
                                           {"sbcccc0000000000000000", "sbaaab"},
                                           {"sbdddd0000000000000000", "twice"},
                                           {"sbeeee0000000000000000", "twice"}};

std::string chosen(const std::string& word) {
  return choose_reference("sandbox", word, kSandboxes).value_or("");
}
Error refused(const std::string& word) {
  return choose_reference("sandbox", word, kSandboxes).error();
}

TEST(ChooseReference, TakesAnIdANameOrTheBeginningOfAnId) {
  EXPECT_EQ(chosen("sbaaaa0000000000000000"), "sbaaaa0000000000000000");
  EXPECT_EQ(chosen("dev"), "sbaaaa0000000000000000");
  EXPECT_EQ(chosen("sbaaaa"), "sbaaaa0000000000000000");
  EXPECT_EQ(chosen("sbcc"), "sbcccc0000000000000000");
}

TEST(ChooseReference, ANameComesBeforeTheBeginningOfAnId) {
  EXPECT_EQ(chosen("sbaaab"), "sbcccc0000000000000000");
}

TEST(ChooseReference, ListsTheCandidatesOfAnAmbiguousWord) {
  EXPECT_EQ(refused("sbaaa").code(), Errc::kConflict);
  EXPECT_EQ(refused("sbaaa").message(),
            "'sbaaa' is ambiguous: the beginning of the ids of 2 sandboxes: "
            "sbaaaa0000000000000000 (dev), sbaaab0000000000000000");
  EXPECT_THAT(refused("twice").message(), HasSubstr("the name of 2 sandboxes: sbdddd"));
}

TEST(ChooseReference, RefusesWhatIsTooShortOrUnknown) {
  for (const char* word : {"sbc", "", "de", "nothing", "sbzzzz"}) {
    EXPECT_EQ(refused(word).code(), Errc::kNotFound) << word;
  }
}

}  // namespace
}  // namespace glovebox::client
