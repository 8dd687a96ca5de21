// Every attack of the table against every isolating engine, with the real programs. Each row is one
// test: first its control (the attack works where nothing stops it), then the attack inside. Under
// a bomb the host must stay responsive, and after each row nothing of it may remain.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "attack/attack_runner.h"
#include "attacks/features.h"
#include "own_host.h"

namespace glovebox::attack {

void PrintTo(Judgement judgement, std::ostream* out) {
  constexpr const char* kWords[] = {"held", "broken", "kernel lacks it", "not tried"};
  *out << kWords[static_cast<size_t>(judgement)];
}

namespace {

using Clock = std::chrono::steady_clock;

std::string bin_dir() {
  const char* given = std::getenv("GLOVEBOX_BIN_DIR");
  return given != nullptr ? given : GBX_BIN_DIR;
}

// `process` is not here: it is documented as not being a security boundary.
std::vector<std::string> isolating_engines() { return {"jail"}; }

struct Case {
  std::string engine;
  AttackRow row;
};

void PrintTo(const Case& attack, std::ostream* out) {
  *out << attack.row.name << " against " << attack.engine;
}

std::vector<Case> every_case() {
  std::vector<Case> cases;
  const auto rows = load_table(bin_dir() + "/glovebox-attacks");
  if (!rows) return cases;
  for (const std::string& engine : isolating_engines()) {
    for (const AttackRow& row : *rows) cases.push_back({engine, row});
  }
  return cases;
}

// What was not there before and does not go away.
std::string new_traces(const std::set<std::string>& before) {
  const auto end = Clock::now() + std::chrono::seconds(10);
  for (;;) {
    std::string left;
    for (const std::string& trace : traces_on_host()) {
      if (before.count(trace) == 0) left += trace + "\n";
    }
    if (left.empty() || Clock::now() > end) return left;
    ::poll(nullptr, 0, 10);
  }
}

class Escape : public ::testing::TestWithParam<Case> {
 protected:
  // Once for all rows; rebuilt for each engine, of which there are few.
  static AttackRunner& runner() {
    if (!made || engine != GetParam().engine) {
      engine = GetParam().engine;
      auto result = AttackRunner::make(bin_dir() + "/glovebox-attacks", sandboxes());
      if (!result) {
        ADD_FAILURE() << result.error().message();
        std::abort();
      }
      made = std::move(*result);
    }
    return *made;
  }

  static RunSandboxed sandboxes() {
    return sandboxes_of_program(bin_dir() + "/glovebox", bin_dir() + "/glovebox-attacks",
                                GetParam().engine);
  }

  // Removes what it planted on the host. Not left to the program's exit: own_host.cc ends the
  // process without destructors.
  static void TearDownTestSuite() { made.reset(); }

  static inline std::string engine;
  static inline std::unique_ptr<AttackRunner> made;
};

// A sandbox beside a bomb, as the next user would start one.
void expect_responsive_host(const RunSandboxed& sandboxes) {
  SandboxRequest request;
  request.program = "/bin/true";
  request.limit = std::chrono::seconds(15);
  const auto start = Clock::now();
  const auto report = sandboxes(request);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_FALSE(report->hung);
  EXPECT_EQ(report->exit_code, 0) << report->err;
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10)) << "the host is not responsive";
}

TEST_P(Escape, IsHeldAndItsControlIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "the controls need root";
  const AttackRow& row = GetParam().row;
  const Verdict outside = runner().control(row);
  if (outside.judgement == Judgement::kKernelLacks) {
    const std::string objection =
        attacks::objection_to_skipping(row.name, attacks::kernel_features(), attacks::Kernel());
    ASSERT_EQ(objection, "") << "skipped because: " << outside.detail;
    GTEST_SKIP() << "kernel lacks it: " << outside.detail;
  }
  ASSERT_EQ(outside.judgement, Judgement::kBroken)
      << "the attack does not work where nothing stops it: " << outside.detail;

  const std::set<std::string> before = traces_on_host();
  Verdict inside;
  if (row.kind == Kind::kBomb) {
    auto bomb = std::async(std::launch::async, [&] { return runner().attack(row); });
    expect_responsive_host(sandboxes());
    inside = bomb.get();
  } else {
    inside = runner().attack(row);
  }
  EXPECT_EQ(inside.judgement, Judgement::kHeld) << inside.by << ": " << inside.detail;
  EXPECT_EQ(new_traces(before), "") << "left on the host";
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return info.param.engine + "_" + info.param.row.name;
}

INSTANTIATE_TEST_SUITE_P(EveryIsolatingEngine, Escape, ::testing::ValuesIn(every_case()), name_of);

TEST(AttackTable, GivesEveryRowANameOfItsOwn) {
  const auto rows = load_table(bin_dir() + "/glovebox-attacks");
  ASSERT_TRUE(rows) << rows.error().message();
  std::set<std::string> names;
  for (const AttackRow& row : *rows) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(AttackTable, HasMoreThanSixtyRowsThatCountAcrossAllGroups) {
  if (::geteuid() != 0) GTEST_SKIP() << "the controls need root";
  const std::string attacks = bin_dir() + "/glovebox-attacks";
  auto runner =
      AttackRunner::make(attacks, sandboxes_of_program(bin_dir() + "/glovebox", attacks, "jail"));
  ASSERT_TRUE(runner) << runner.error().message();
  size_t counted = 0;
  std::set<std::string> groups;
  for (const AttackRow& row : (*runner)->rows()) {
    // The slow ones exist on every kernel and are counted by their own tests.
    if (row.kind == Kind::kBomb || row.kind == Kind::kSurvivor) continue;
    if ((*runner)->control(row).judgement != Judgement::kBroken) continue;
    ++counted;
    groups.insert(row.group);
  }
  EXPECT_GT(counted, 60U);
  EXPECT_EQ(groups, (std::set<std::string>{"files", "processes", "kernel", "network", "leaks",
                                           "quotas", "resources"}));
}

}  // namespace
}  // namespace glovebox::attack

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return glovebox::attack::run_on_own_host([] { return RUN_ALL_TESTS(); });
}
