// GET /v1/engines: what stood round the last sandboxes, and why an engine cannot be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/testing/test_server.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using http::Method;
using ::testing::HasSubstr;

class EngineRoutesTest : public ::testing::Test {
 protected:
  static json::object engine(TestServer& test, const std::string& name,
                             store::KeyRole role = store::KeyRole::kAdmin) {
    const Answer answer = test.send(Method::kGet, "/v1/engines", test.make_key("default", role));
    EXPECT_EQ(answer.status, 200) << answer.body;
    const json::value parsed = json::parse(answer.body);
    for (const json::value& one : parsed.at("engines").as_array()) {
      if (std::string(one.at("name").as_string()) == name) return one.as_object();
    }
    ADD_FAILURE() << "there is no " << name << " in " << answer.body;
    return {};
  }
  static WallSet some_walls() {
    WallSet walls;
    walls.add(Wall::kSeccomp);
    return walls;
  }
};

TEST_F(EngineRoutesTest, ShowTheWallsOfTheLastSandboxes) {
  TestServer test;
  test.node.now.launcher_up = true;
  test.node.now.jail.run_walls = some_walls();
  const json::object jail = engine(test, "jail");
  EXPECT_EQ(jail.at("default"), true);
  EXPECT_EQ(jail.at("usable"), true);
  EXPECT_TRUE(jail.at("reason").is_null());
  EXPECT_EQ(jail.at("run").at("grade"), "jail-partial");
  EXPECT_EQ(jail.at("run").at("walls"), json::array{"seccomp"});
  EXPECT_TRUE(jail.at("sandbox").is_null());
  EXPECT_EQ(jail.at("features").at("network"), true);
  EXPECT_TRUE(jail.at("features").at("pause").is_null());  // until one was made
  EXPECT_EQ(engine(test, "process").at("features").at("pause"), false);
}

TEST_F(EngineRoutesTest, SayWhyOneCannotBeUsed) {
  ApiSettings settings;
  settings.min_grade = Grade::kJail;
  TestServer test(settings);
  test.node.now.launcher_up = false;
  EXPECT_EQ(engine(test, "jail").at("reason"), "there is no launcher");
  test.node.now.launcher_up = true;
  EXPECT_EQ(engine(test, "jail").at("usable"), true);  // until it was tried
  test.node.now.jail.error = "mount proc: Operation not permitted";
  EXPECT_EQ(engine(test, "jail").at("reason"), "mount proc: Operation not permitted");
  test.node.now.jail.run_walls = some_walls();
  const json::object weak = engine(test, "jail");
  EXPECT_EQ(weak.at("usable"), false);
  EXPECT_THAT(std::string(weak.at("reason").as_string()), HasSubstr("isolation.min_grade is jail"));
  const json::object process = engine(test, "process");
  EXPECT_EQ(process.at("usable"), false);
  EXPECT_THAT(std::string(process.at("reason").as_string()), HasSubstr("not a security boundary"));
}

TEST_F(EngineRoutesTest, TellWhatTheLastSandboxCouldDo) {
  TestServer test;
  test.node.now.launcher_up = true;
  test.node.now.jail.session_walls = some_walls();
  json::object features = engine(test, "jail").at("features").as_object();
  EXPECT_EQ(features.at("pause"), false);
  EXPECT_EQ(features.at("sudo"), false);
  for (const Wall wall : {Wall::kFreezer, Wall::kUidSlice, Wall::kIdmappedLayers}) {
    test.node.now.jail.session_walls->add(wall);
  }
  features = engine(test, "jail").at("features").as_object();
  EXPECT_EQ(features.at("pause"), true);
  EXPECT_EQ(features.at("sudo"), true);
}

TEST_F(EngineRoutesTest, ShowTheLastErrorToAdministratorsOnly) {
  TestServer test;
  test.node.now.launcher_up = true;
  test.node.now.jail.error = "template 'secret-of-another': no layer /srv/other";
  const json::object shown = engine(test, "jail", store::KeyRole::kUser);
  EXPECT_EQ(shown.at("usable"), false);
  EXPECT_THAT(json::serialize(shown), ::testing::Not(HasSubstr("other")));
  EXPECT_THAT(json::serialize(engine(test, "jail")), HasSubstr("/srv/other"));
}

TEST_F(EngineRoutesTest, NeedAKey) {
  TestServer test;
  EXPECT_EQ(test.send(Method::kGet, "/v1/engines").status, 401);
}

}  // namespace
}  // namespace glovebox::api
