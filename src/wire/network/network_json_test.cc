#include "wire/network/network_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "wire/runs/outcome_json.h"
#include "wire/runs/run_answer.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

NetDecision decision() {
  NetDecision one;
  one.what = NetDecision::What::kConnect;
  one.allowed = true;
  one.name = "pypi.org";
  one.address = "151.101.0.223";
  one.port = 443;
  one.rule = "allow pypi.org";
  one.count = 3;
  one.first_ms = 1'000;
  one.last_ms = 1'763'258'400'123;
  return one;
}

TEST(NetworkJson, SaysEachDecision) {
  const json::object said = decision_json(decision());
  EXPECT_EQ(said.at("what").as_string(), "connect");
  EXPECT_EQ(said.at("name").as_string(), "pypi.org");
  EXPECT_EQ(json::serialize(said.at("port")), "443");
  EXPECT_EQ(said.at("first_at").as_string(), "1970-01-01T00:00:01.000Z");
  EXPECT_EQ(said.at("last_at").as_string(), "2025-11-16T02:00:00.123Z");
}

TEST(NetworkJson, WhatIsNotThereIsNull) {
  NetDecision one;
  one.what = NetDecision::What::kResolve;
  const json::object said = decision_json(one);
  EXPECT_EQ(said.at("what").as_string(), "resolve");
  for (const char* field : {"name", "address", "port", "first_at", "last_at"}) {
    EXPECT_TRUE(said.at(field).is_null()) << field;
  }
}

TEST(NetworkJson, HostileWordsAndTimesStayJson) {
  NetDecision one = decision();
  one.name = "a\xff\"\n";
  one.rule = std::string("b\0c", 3);
  for (const std::int64_t time : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    one.first_ms = time;
    const json::value back = json::parse(json::serialize(decision_json(one)));
    EXPECT_TRUE(back.at("first_at").is_null());
  }
}

TEST(NetworkJson, TimesGoFrom1970ToTheYear9999) {
  NetDecision one = decision();
  one.first_ms = 1;
  one.last_ms = 253'402'300'799'999;
  const json::object said = decision_json(one);
  EXPECT_EQ(said.at("first_at").as_string(), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(said.at("last_at").as_string(), "9999-12-31T23:59:59.999Z");
  one.last_ms = 253'402'300'800'000;
  EXPECT_TRUE(decision_json(one).at("last_at").is_null());
}

TEST(NetworkJson, FiguresAreWholeUnlessTheGatewayCouldNotSay) {
  EXPECT_FALSE(NetworkFigures{}.incomplete);
}

TEST(NetworkJson, NamesTheBudgetsThatAreSpent) {
  NetworkFigures figures;
  EXPECT_EQ(json::serialize(network_json(figures).at("spent")), "[]");
  figures.totals.spent = 0xff;
  EXPECT_EQ(json::serialize(network_json(figures).at("spent")),
            R"(["bytes_out","connections","names"])");
}

TEST(NetworkJson, IsInTheMetricsOfARunAndNullWithoutANetwork) {
  RunAnswer answer;
  EXPECT_TRUE(json::parse(run_exit_json(answer)).at("metrics").at("network").is_null());
  EXPECT_TRUE(json::parse(outcome_json({})).at("metrics").at("network").is_null());
  NetworkFigures figures;
  figures.decisions = {decision()};
  figures.incomplete = true;
  answer.network = figures;
  for (const std::string& text : {run_exit_json(answer), outcome_json({}, figures)}) {
    const json::value network = json::parse(text).at("metrics").at("network");
    EXPECT_EQ(network.at("decisions").as_array().size(), 1u);
    EXPECT_TRUE(network.at("incomplete").as_bool());
  }
}

}  // namespace
}  // namespace glovebox::wire
