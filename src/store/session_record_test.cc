// What the record of a session keeps, and how columns have it.
#include "store/session_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(SessionRecord, KeepsSoMuchMetadataWhenItIsOver) {
  SessionRecord session{.id = SandboxId::make()};
  // With their keys exactly the bound.
  session.metadata = {{"a", std::string(999, 'x')}, {"b", std::string(3095, 'x')}};
  session.env = {"A=1"};
  reduce_to_ended(session);
  EXPECT_EQ(session.metadata.size(), 2u);
  EXPECT_THAT(session.env, IsEmpty());
  session.metadata["b"] += 'x';
  reduce_to_ended(session);
  EXPECT_THAT(session.metadata, ElementsAre(Pair("a", std::string(999, 'x'))));
}

TEST(SessionRecord, ItsTextsAreCounted) {
  SessionRecord session{.id = SandboxId::make()};
  const std::uint64_t before = stored_bytes(session);
  for (std::string* text : {&session.reason, &session.agent_id, &session.name,
                            &session.template_name, &session.host_mask, &session.net}) {
    *text += std::string(100, 'x');
  }
  EXPECT_EQ(stored_bytes(session), before + 600);
}

TEST(SessionCursors, HaveOneSpelling) {
  for (const std::int64_t seq : {std::int64_t{1}, std::int64_t{255}, INT64_MAX}) {
    EXPECT_EQ(*parse_session_cursor(encode_session_cursor(seq)), seq);
  }
  for (const std::int64_t seq : {std::int64_t{0}, std::int64_t{-1}, INT64_MIN}) {
    EXPECT_FALSE(parse_session_cursor(encode_session_cursor(seq))) << seq;
  }
  for (const char* bad :
       {"", "s1", "s1000000000000000g", "s1000000000000000F", "s2000000000000000f",
        "s1 00000000000000f", "s10000000000000000f", "s100000000000000f"}) {
    EXPECT_FALSE(parse_session_cursor(bad)) << bad;
  }
}

TEST(PackedMetadata, ThatWasCutIsReadAsFarAsItGoes) {
  const std::string whole = pack_metadata({{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(unpack_metadata(whole), (Metadata{{"a", "1"}, {"b", "2"}}));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    EXPECT_LE(unpack_metadata(whole.substr(0, size)).size(), 2u);
  }
  EXPECT_THAT(unpack_metadata(""), IsEmpty());
  EXPECT_THAT(unpack_metadata(std::string("\0\1a\0", 4)), IsEmpty()) << "no value";
  EXPECT_THAT(unpack_metadata(std::string("\0\0\2a\0", 5)), IsEmpty()) << "no key";
}

TEST(PackedDependencies, ThatWereCutAreNone) {
  EXPECT_TRUE(unpack_dependencies("").empty());
  EXPECT_TRUE(unpack_dependencies(std::string("a\0b\0", 4)).empty());
  Dependencies wanted;
  wanted.packages = {"a"};
  wanted.preload = {"b"};
  EXPECT_EQ(unpack_dependencies(pack_dependencies(wanted)), wanted);
}

TEST(SessionPages, SayThatThereIsMoreOnlyWhereThereIs) {
  EXPECT_FALSE(SessionPage{}.is_total_bounded);
  EXPECT_EQ(SessionPage{}.next_cursor, "");
}

}  // namespace
}  // namespace glovebox::store
