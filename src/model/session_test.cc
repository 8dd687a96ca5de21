#include "model/session.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox {
namespace {

constexpr SessionState kAll[] = {SessionState::kPending, SessionState::kStarting,
                                 SessionState::kRunning, SessionState::kPaused,
                                 SessionState::kStopped, SessionState::kError};

TEST(SessionState, EveryTransitionIsInTheTable) {
  // A row is what it was, a column what it is to be, both in the order of kAll.
  constexpr bool kMay[6][6] = {
      // pending starting running paused stopped error
      {false, true, false, false, true, true},     // pending
      {false, false, true, false, true, true},     // starting
      {false, false, false, true, true, true},     // running
      {false, false, true, false, true, true},     // paused
      {false, false, false, false, false, false},  // stopped
      {false, false, false, false, false, false},  // error
  };
  for (std::size_t from = 0; from < 6; ++from) {
    for (std::size_t to = 0; to < 6; ++to) {
      EXPECT_EQ(may_become(kAll[from], kAll[to]), kMay[from][to])
          << session_state_name(kAll[from]) << " to " << session_state_name(kAll[to]);
    }
  }
}

TEST(SessionState, NamesGoThereAndBack) {
  for (const SessionState state : kAll) {
    EXPECT_EQ(parse_session_state(session_state_name(state)), state);
  }
  EXPECT_EQ(session_state_name(SessionState::kRunning), "running");
  EXPECT_FALSE(parse_session_state("Running"));
  EXPECT_FALSE(parse_session_state(""));
}

TEST(SessionState, OnlyTheLastTwoAreOver) {
  for (const SessionState state : kAll) {
    EXPECT_EQ(is_over(state), state == SessionState::kStopped || state == SessionState::kError);
  }
}

}  // namespace
}  // namespace glovebox
