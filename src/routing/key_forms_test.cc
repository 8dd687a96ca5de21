#include "routing/key_forms.h"

#include <gtest/gtest.h>

#include "store/key.h"

namespace glovebox::routing {
namespace {

const std::string kDigits(40, 'a');

TEST(KeyForms, ADialectsPrefixIsReplacedByOurOwn) {
  const KeyForms forms({"abc_", "d_"});
  EXPECT_EQ(forms.own_form("abc_" + kDigits), "gbx_" + kDigits);
  EXPECT_EQ(forms.own_form("d_" + kDigits), "gbx_" + kDigits);
  EXPECT_TRUE(forms.is_key("abc_" + kDigits));
  EXPECT_TRUE(forms.is_key("d_" + kDigits));
}

TEST(KeyForms, OurOwnFormStays) {
  const KeyForms forms({"abc_"});
  EXPECT_EQ(forms.own_form("gbx_" + kDigits), "gbx_" + kDigits);
  EXPECT_TRUE(forms.is_key("gbx_" + kDigits));
}

TEST(KeyForms, EveryOtherTextIsNoKey) {
  const KeyForms forms({"abc_"});
  for (const std::string& text : {std::string(), kDigits, std::string("abc_"), "xyz_" + kDigits,
                                  "abc_gbx_" + kDigits, "gbx_abc_" + kDigits, "ABC_" + kDigits,
                                  "abc_" + kDigits + "a", "abc_" + std::string(40, 'A')}) {
    EXPECT_FALSE(forms.is_key(text)) << text;
  }
  EXPECT_FALSE(KeyForms({}).is_key("abc_" + kDigits));
}

}  // namespace
}  // namespace glovebox::routing
