#include "net/port_set.h"

#include <gtest/gtest.h>

namespace glovebox::net {
namespace {

using Ranges = std::vector<PortRange>;

TEST(PortSet, JoinsWhatTouches) {
  EXPECT_EQ(PortSet({{5, 9}, {1, 4}, {3, 7}}), PortSet(Ranges{{1, 9}}));
  EXPECT_EQ(PortSet({{1, 65535}, {65535, 65535}}), PortSet(Ranges{{1, 65535}}));
  EXPECT_NE(PortSet({{1, 3}, {5, 9}}), PortSet(Ranges{{1, 9}}));
  EXPECT_TRUE(PortSet().empty());
}

TEST(PortSet, Minus) {
  const PortSet all(Ranges{{1, 65535}});
  EXPECT_EQ(all.minus(PortSet(Ranges{{443, 443}})), PortSet({{1, 442}, {444, 65535}}));
  EXPECT_EQ(all.minus(PortSet({{1, 10}, {20, 30}, {65000, 65535}})),
            PortSet({{11, 19}, {31, 64999}}));
  EXPECT_TRUE(all.minus(all).empty());
  EXPECT_TRUE(all.minus(PortSet({{1, 1000}, {1001, 65535}})).empty());
  EXPECT_EQ(PortSet({{1, 5}, {10, 15}, {20, 25}}).minus(PortSet({{3, 12}, {25, 30}})),
            PortSet({{1, 2}, {13, 15}, {20, 24}}));
  EXPECT_EQ(PortSet({{1, 5}, {7, 9}}).minus(PortSet()), PortSet({{1, 5}, {7, 9}}));
  // One port at either end is taken, and one is left.
  const PortSet few(Ranges{{1, 5}});
  EXPECT_EQ(few.minus(PortSet(Ranges{{1, 1}})), PortSet(Ranges{{2, 5}}));
  EXPECT_EQ(few.minus(PortSet(Ranges{{5, 5}})), PortSet(Ranges{{1, 4}}));
  EXPECT_EQ(few.minus(PortSet(Ranges{{1, 4}})), PortSet(Ranges{{5, 5}}));
  EXPECT_EQ(few.minus(PortSet(Ranges{{2, 5}})), PortSet(Ranges{{1, 1}}));
  EXPECT_TRUE(few.minus(few).empty());
}

TEST(PortSet, BothAndEither) {
  EXPECT_EQ(PortSet({{1, 10}, {20, 30}}).both(PortSet(Ranges{{5, 25}})),
            PortSet({{5, 10}, {20, 25}}));
  EXPECT_TRUE(PortSet(Ranges{{1, 10}}).both(PortSet(Ranges{{11, 12}})).empty());
  EXPECT_EQ(PortSet(Ranges{{1, 10}}).either(PortSet(Ranges{{11, 12}})), PortSet(Ranges{{1, 12}}));
}

}  // namespace
}  // namespace glovebox::net
