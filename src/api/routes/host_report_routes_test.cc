// /v1/doctor and /v1/attack-report: who may see them, and what is done with odd reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/testing/test_server.h"

namespace glovebox::api {
namespace {

using ::testing::HasSubstr;

ApiSettings with_report(const std::string& path) {
  ApiSettings settings;
  settings.attack_report = path;
  return settings;
}

class HostReports : public ::testing::Test {
 protected:
  Answer get(const std::string& path, const std::string& key) {
    return test_.send(http::Method::kGet, path, key);
  }
  void keep(const std::string& text) { std::ofstream(path_, std::ios::trunc) << text; }
  ~HostReports() override { std::filesystem::remove(path_); }

  const std::string path_ = ::testing::TempDir() + "attack-report-" + std::to_string(::getpid());
  TestServer test_{with_report(path_)};
  const std::string admin_ = test_.make_key("default", store::KeyRole::kAdmin);
  const std::string user_ = test_.make_key("mine", store::KeyRole::kUser);
};

TEST_F(HostReports, AreForAdministrators) {
  for (const char* path : {"/v1/doctor", "/v1/attack-report"}) {
    EXPECT_EQ(get(path, "").status, 401) << path;
    EXPECT_EQ(get(path, user_).status, 403) << path;
  }
}

TEST_F(HostReports, DoctorIsAskedAndItsReportHasATime) {
  EXPECT_EQ(get("/v1/doctor", admin_).status, 503);
  int asked = 0;
  test_.api->doctor_report = [&asked]() -> Task<std::string> {
    ++asked;
    co_return R"({"kernel":"6.1","findings":[],"engines":[]})";
  };
  const Answer answer = get("/v1/doctor", admin_);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("\"kernel\":\"6.1\""));
  EXPECT_THAT(answer.body, HasSubstr("\"at\":\"20"));
  EXPECT_EQ(get("/v1/doctor", admin_).body, answer.body);
  test_.api->doctor_report = []() -> Task<std::string> { co_return "no JSON"; };
  EXPECT_EQ(get("/v1/doctor", admin_).status, 500);
}

TEST_F(HostReports, TheLastReportOfTheAttacksIsShown) {
  EXPECT_EQ(get("/v1/attack-report", admin_).body, "{\"report\":null}\n");
  keep(R"({"at":"2026-01-01T00:00:00.000Z","attacks":[]})");
  const Answer answer = get("/v1/attack-report", admin_);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"report\":{\"at\":\"2026-01-01T00:00:00.000Z\",\"attacks\":[]}}\n");
}

TEST_F(HostReports, AnOddReportIsNotPassedOn) {
  for (const std::string& text :
       {std::string("[]"), std::string("{\"at\":"), std::string((1 << 20) + 1, ' ')}) {
    keep(text);
    EXPECT_EQ(get("/v1/attack-report", admin_).status, 500) << text.substr(0, 20);
  }
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/etc/hostname", path_);
  EXPECT_EQ(get("/v1/attack-report", admin_).status, 500);
}

}  // namespace
}  // namespace glovebox::api
