#include "dialects/e2b/control/sandbox_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/session_lifecycle.h"

namespace glovebox::e2b {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(E2bCreate, ABareRequestHasTheDefaultsOfItsGeneration) {
  const CreateSandboxRequest wanted = parse_create("{}", kTimeoutV2).value();
  EXPECT_EQ(wanted.template_id, "base");
  EXPECT_EQ(wanted.request.ttl_s, 300u);
  EXPECT_EQ(wanted.request.on_timeout, OnTimeout::kKill);
  EXPECT_FALSE(wanted.request.private_ports);
  EXPECT_EQ(parse_create("", kTimeoutV1).value().request.ttl_s, 15u);
}

TEST(E2bCreate, AllSupportedFieldsAreRead) {
  const CreateSandboxRequest wanted =
      parse_create(R"({"templateID":"code-interpreter-v1","timeout":7,
      "metadata":{"job":"42"},"envVars":{"A":"b"},"secure":true,"allow_internet_access":true,
      "autoPause":true,"autoPauseMemory":true,"autoResume":{"enabled":true},
      "network":{"allowOut":[],"denyOut":["0.0.0.0/0"],"allowPublicTraffic":false,"rules":{}},
      "iam":{"tokens":{}},"volumeMounts":[],"mcp":{},"what is this":[1]})",
                   kTimeoutV2)
          .value();
  EXPECT_EQ(wanted.template_id, "code-interpreter-v1");
  EXPECT_EQ(wanted.request.ttl_s, 7u);
  EXPECT_THAT(wanted.request.env, ElementsAre("A=b"));
  EXPECT_THAT(wanted.request.metadata,
              ElementsAre(Pair(std::string(sessions::kAutoResume), "true"), Pair("job", "42")));
  EXPECT_EQ(wanted.request.on_timeout, OnTimeout::kPause);
  EXPECT_TRUE(wanted.request.private_ports);
  EXPECT_TRUE(wanted.egress.internet);
  EXPECT_EQ(wanted.egress.deny.size(), 1u);
}

TEST(E2bCreate, UnsupportedFieldsAreRefusedByName) {
  const std::pair<const char*, const char*> kBad[] = {
      {R"({"timeout":0})", "timeout"},
      {R"({"timeout":-5})", "timeout"},
      {R"({"timeout":"5"})", "timeout"},
      {R"({"templateID":5})", "templateID"},
      {R"({"metadata":{"a":1}})", "metadata.a"},
      {R"({"metadata":{"glovebox.auto_resume":"true"}})", "autoResume"},
      {R"({"envVars":{"A=B":"1"}})", "envVars"},
      {R"({"autoPauseMemory":false})", "autoPauseMemory"},
      {R"({"autoPause":true,"autoPauseMemory":false,"autoResume":{"enabled":true}})", "autoResume"},
      {R"({"network":{"allowOut":["127.1"]}})", "network.allowOut"},
      {R"({"network":{"rules":{"a.example":[]}}})", "network.rules"},
      {R"({"network":{"egressProxy":{"address":"p:1"}}})", "network.egressProxy"},
      {R"({"network":{"maskRequestHost":5}})", "network.maskRequestHost"},
      {R"({"network":{"maskRequestHost":"h\r\nX-Own: 1"}})", "network.maskRequestHost"},
      {R"({"network":{"httpsPorts":[8443]}})", "network.httpsPorts"},
      {R"({"iam":{"tokens":{"aws":{}}}})", "iam.tokens"},
      {R"({"volumeMounts":[{"name":"v","path":"/v"}]})", "volumeMounts"},
      {R"({"mcp":["x"]})", "mcp"},
      {R"([])", "object"},
      {R"({"timeout":5,"timeout":6})", ""},
  };
  for (const auto& [body, field] : kBad) {
    const auto wanted = parse_create(body, kTimeoutV2);
    ASSERT_FALSE(wanted) << body;
    EXPECT_EQ(wanted.error().code(), Errc::kInvalidArgument) << body;
    EXPECT_THAT(wanted.error().message(), HasSubstr(field)) << body;
  }
}

TEST(E2bCreate, APauseAtTheTimeoutMayKeepOnlyTheFiles) {
  const auto on_timeout = [](const char* body) {
    return parse_create(body, kTimeoutV2).value().request.on_timeout;
  };
  EXPECT_EQ(on_timeout(R"({"autoPause":true,"autoPauseMemory":false})"), OnTimeout::kPauseFiles);
  EXPECT_EQ(on_timeout(R"({"autoPause":true,"autoPauseMemory":true})"), OnTimeout::kPause);
  EXPECT_EQ(on_timeout(R"({"autoPause":false,"autoPauseMemory":true})"), OnTimeout::kKill);
}

TEST(E2bCreate, AHostMaskAndAGatewayAreRead) {
  const CreateSandboxRequest wanted =
      parse_create(R"({"network":{"maskRequestHost":"${PORT}-a.example"},"mcp":{"x":{"k":"v"}}})",
                   kTimeoutV2)
          .value();
  EXPECT_EQ(wanted.request.host_mask, "${PORT}-a.example");
  EXPECT_TRUE(wanted.has_mcp);
  const CreateSandboxRequest bare =
      parse_create(R"({"mcp":null,"network":{}})", kTimeoutV2).value();
  EXPECT_FALSE(bare.has_mcp);
  EXPECT_EQ(bare.request.host_mask, "");
}

TEST(E2bRequests, WhatIsNotSaidIsTheUsualWay) {
  EXPECT_FALSE(CreateSandboxRequest{}.has_mcp);
  EXPECT_TRUE(CreateSandboxRequest{}.egress.internet);
  EXPECT_TRUE(ConnectRequest{}.memory);
}

TEST(E2bRequests, SmallBodies) {
  EXPECT_EQ(parse_connect("{}", 300).value().timeout_s, 300u);
  EXPECT_EQ(parse_connect("", 15).value().timeout_s, 15u);
  EXPECT_FALSE(parse_connect(R"({"timeout":9,"memory":false})", 300).value().memory);
  EXPECT_FALSE(parse_connect(R"({"timeout":0})", 300));
  EXPECT_EQ(parse_timeout(R"({"timeout":0})").value(), 0u);
  EXPECT_FALSE(parse_timeout("{}"));
  EXPECT_FALSE(parse_timeout(R"({"timeout":-1})"));
  EXPECT_EQ(parse_refresh("").value(), 15u);
  EXPECT_EQ(parse_memory(R"({"memory":false,"requireHealthyGuest":true})").value(), false);
  EXPECT_EQ(parse_memory("").value(), std::nullopt);
  EXPECT_EQ(parse_fork("{}").value().count, 1u);
  EXPECT_EQ(parse_fork(R"({"count":2,"timeout":60})").value().timeout_s, 60u);
  EXPECT_FALSE(parse_fork(R"({"count":0})"));
  EXPECT_FALSE(parse_fork(R"({"count":33})"));
  EXPECT_EQ(parse_snapshot(R"({"name":"n","memory":false})").value().name, "n");
}

TEST(E2bList, MetadataIsEncodedThreeTimes) {
  EXPECT_THAT(parse_metadata_filter("a=b%2520c").value(), ElementsAre(Pair("a", "b c")));
  EXPECT_THAT(parse_metadata_filter("a=b%252Bc+&d%2526=").value(),
              ElementsAre(Pair("a", "b+c "), Pair("d&", "")));
  EXPECT_THAT(parse_metadata_filter("k").value(), ElementsAre(Pair("k", "")));
  EXPECT_THAT(parse_metadata_filter("").value(), IsEmpty());
  EXPECT_FALSE(parse_metadata_filter("a=%zz"));
  EXPECT_FALSE(parse_metadata_filter("a=%25z"));
  EXPECT_FALSE(parse_metadata_filter("a=%2500"));
}

TEST(E2bList, TimesAreRfc3339) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z").value(), 0);
  EXPECT_EQ(parse_time("2026-01-02T03:04:05.678901Z").value(), 1767323045678);
  EXPECT_EQ(parse_time("2026-01-02T05:04:05.6+02:00").value(), 1767323045600);
  EXPECT_EQ(parse_time("2026-01-02T05:04:05 02:00").value(), 1767323045000);
  EXPECT_EQ(parse_time("2026-01-01T22:04:05-05:00").value(), 1767323045000);
  EXPECT_EQ(parse_time("1970-01-01T23:59:59Z").value(), 86'399'000);
  EXPECT_EQ(parse_time("1970-01-01T23:59:59+23:59").value(), 59'000);
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.09Z").value(), 90);
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.9Z").value(), 900);
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.1239Z").value(), 123);
  EXPECT_EQ(parse_time("1970-01-01T23:59:60Z").value(), 86'400'000) << "a leap second";
  for (const char* bad :
       {"", "yesterday", "1970-01-01T23:60:00Z", "1970-01-01T23:59:61Z", "2026-01-02",
        "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z", "2026-01-02T24:04:05Z",
        "2026-01-02T03:04:05", "2026-01-02T03:04:05Zx", "2026-01-02T03:04:05.Z",
        "-026-01-02T03:04:05Z", "2026-01-02T03:04:05+2:00", "2026-01-02T03:04:05+24:00",
        "2026-01-02T03:04:05+02:60", "2026-01-02T03:04:05+02:", "2026-01-02T03:04:05.:Z"}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
}

TEST(E2bList, ATimeHasAllItsDigits) {
  EXPECT_EQ(parse_time("1970-01-01t00:00:01z").value(), 1000);
  EXPECT_EQ(parse_time("1970-01-01 00:00:01z").value(), 1000);
  for (const char* bad : {"1970-01-01T00:00:1Z", "1970-1-01T00:00:01Z", "1970-01-01T00:00:-1Z",
                          "1970-01-01T00:00:01+0:00", "1970-01-01T00:00:01", "1970-01-01T00:00:0",
                          "1970/01-01T00:00:01Z", "1970-01-01T00-00:01Z", "1970-01-01T00:00:01+",
                          "1970-01-01T00:00:01*02:00", "1970-01-01T00:00:01.1"}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
}

TEST(E2bList, TheFilter) {
  http::Params query;
  EXPECT_THAT(parse_list(query).value().states,
              ElementsAre(SessionState::kRunning, SessionState::kPaused));
  EXPECT_EQ(parse_list(query).value().limit, 100u);
  query.add("state", "paused,running");
  query.add("limit", "100000");
  query.add("order", "asc");
  query.add("startedAfter", "1970-01-01T00:00:01Z");
  const store::SessionFilter filter = parse_list(query).value();
  EXPECT_THAT(filter.states, ElementsAre(SessionState::kPaused, SessionState::kRunning));
  EXPECT_EQ(filter.limit, 100u);
  EXPECT_TRUE(filter.oldest_first);
  EXPECT_EQ(filter.created_from_ms, 1000);
  for (const auto& [name, value] :
       {std::pair{"state", "stopped"}, std::pair{"limit", "0"}, std::pair{"limit", "-1"},
        std::pair{"order", "up"}, std::pair{"startedAfter", "now"}}) {
    http::Params bad;
    bad.add(name, value);
    EXPECT_FALSE(parse_list(bad)) << name << value;
  }
}

}  // namespace
}  // namespace glovebox::e2b
