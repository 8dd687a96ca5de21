#include "guest/agent/init/call_list.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <random>

#include "guest/agent/init/testing/filter_stacks.h"

namespace glovebox::agent {
namespace {

constexpr std::uint32_t kNative = AUDIT_ARCH_X86_64;

std::uint32_t answer_of(const CallList::Filter& filter, std::uint32_t number, const Call& call = {},
                        std::uint32_t arch = kNative) {
  return Stack{"list", {filter}}.answer(static_cast<int>(number), call, arch);
}

TEST(CallList, AnswersEachNumberAsListed) {
  std::mt19937 random(19);
  for (int round = 0; round < 50; ++round) {
    CallList list(kNative, refused(ENOSYS));
    std::map<std::uint32_t, std::uint32_t> wanted;
    // Runs of one answer and gaps, from the first number on in every other round.
    for (std::uint32_t number = random() % 2; number < 400; number += random() % 3 + 1) {
      wanted[number] = random() % 4 == 0 ? refused(EPERM) : kAllowed;
      ASSERT_TRUE(list.add(number, wanted[number]));
    }
    const CallList::Filter filter = list.compile();
    if (filter.empty()) continue;  // more answers than jumps reach
    for (std::uint32_t number = 0; number < 500; ++number) {
      const auto found = wanted.find(number);
      ASSERT_EQ(answer_of(filter, number), found != wanted.end() ? found->second : refused(ENOSYS))
          << "round " << round << ", call " << number;
    }
    for (const std::uint32_t number : {0x40000000u, 0x40000001u, 0x7fffffffu, 0x80000000u, ~0u}) {
      EXPECT_EQ(answer_of(filter, number), refused(ENOSYS)) << number;
    }
    EXPECT_EQ(answer_of(filter, wanted.begin()->first, {}, AUDIT_ARCH_I386), refused(ENOSYS));
  }
}

TEST(CallList, AFilterDecidesByTheArguments) {
  CallList list(kNative, refused(ENOSYS));
  ASSERT_TRUE(list.add(1, kAllowed));
  const auto equals = [](std::uint32_t value) {
    return CallList::Filter{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args)},
                            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value},
                            {BPF_RET | BPF_K, 0, 0, kAllowed},
                            {BPF_RET | BPF_K, 0, 0, refused(EPERM)}};
  };
  ASSERT_TRUE(list.add(2, equals(7)));
  ASSERT_TRUE(list.add(9, equals(8)));
  const CallList::Filter filter = list.compile();
  EXPECT_EQ(answer_of(filter, 1), kAllowed);
  EXPECT_EQ(answer_of(filter, 2, {7}), kAllowed);
  EXPECT_EQ(answer_of(filter, 2, {8}), refused(EPERM));
  EXPECT_EQ(answer_of(filter, 9, {8}), kAllowed);
  EXPECT_EQ(answer_of(filter, 9, {7}), refused(EPERM));
  EXPECT_EQ(answer_of(filter, 3, {7}), refused(ENOSYS));
}

TEST(CallList, ACallHasOneAnswer) {
  CallList list(kNative, refused(ENOSYS));
  EXPECT_TRUE(list.add(5, kAllowed));
  EXPECT_TRUE(list.add(5, kAllowed));
  EXPECT_FALSE(list.add(5, refused(EPERM)));
  EXPECT_FALSE(list.add(5, CallList::Filter{{BPF_RET | BPF_K, 0, 0, kAllowed}}));
}

// A conditional jump skips at most 255 instructions; with 131 calls apart, one of them does so.
TEST(CallList, JumpsReachTheirWholeLength) {
  for (const bool begins_with_unlisted : {false, true}) {
    const auto compiled = [&](std::uint32_t count) {
      CallList list(kNative, refused(ENOSYS));
      // Decides which of the two answers comes first behind the tree.
      if (begins_with_unlisted) list.add(5000, refused(ENOSYS));
      for (std::uint32_t i = 0; i < count; ++i) list.add(2 * i + 1, kAllowed);
      return list.compile();
    };
    const CallList::Filter filter = compiled(131);
    ASSERT_FALSE(filter.empty());
    for (std::uint32_t number = 0; number < 2 * 131; ++number) {
      ASSERT_EQ(answer_of(filter, number), number % 2 == 1 ? kAllowed : refused(ENOSYS)) << number;
    }
    EXPECT_TRUE(compiled(132).empty());
  }
}

TEST(CallList, MoreAnswersThanJumpsReachAreNoFilter) {
  CallList list(kNative, refused(ENOSYS));
  for (std::uint32_t number = 0; number < 600; number += 2) list.add(number, kAllowed);
  EXPECT_TRUE(list.compile().empty());
}

}  // namespace
}  // namespace glovebox::agent
