#include "client/output/network_notes.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::client {
namespace {

boost::json::object object(const char* text) { return boost::json::parse(text).as_object(); }

constexpr const char* kRun =
    R"({"exit_code":1,"metrics":{"network":{"refusals":[)"
    R"({"message":"a.example is not in the policy","last_at":"2026-11-18T02:00:00.000Z"},)"
    R"({"message":"b\u001b[2J","last_at":"2026-11-18T02:00:05.000Z"},{"message":7},8]}}})";

TEST(NetworkNotes, ARefusalIsOneLine) {
  EXPECT_EQ(run_network_note(object(kRun), false),
            "glovebox: network: a.example is not in the policy; b\\x1b[2J\n");
}

TEST(NetworkNotes, OnlyThoseOfThisProgram) {
  const auto run = object(kRun);
  const auto& figures = run.at("metrics").at("network").as_object();
  EXPECT_EQ(refusals_note(figures, "2026-11-18T02:00:04.000Z"), "glovebox: network: b\\x1b[2J\n");
  EXPECT_EQ(refusals_note(figures, "2027"), "");
}

TEST(NetworkNotes, ARunWithoutANetworkIsToldOnlyIfItSeemsToMissOne) {
  const char* failed = R"({"exit_code":1,"metrics":{"network":null}})";
  EXPECT_EQ(run_network_note(object(failed), true).find("glovebox: network: this sandbox has none"),
            0u);
  EXPECT_EQ(run_network_note(object(failed), false), "");
  EXPECT_EQ(run_network_note(object(R"({"exit_code":0,"metrics":{"network":null}})"), true), "");
  EXPECT_EQ(run_network_note(object("{}"), true), "");
}

}  // namespace
}  // namespace glovebox::client
