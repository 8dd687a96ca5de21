#include "cli/commands/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::cli {
namespace {

using probe::EngineOutlook;
using probe::State;
using ::testing::HasSubstr;
using ::testing::Not;

DoctorReport sample(EngineOutlook::Strength jail) {
  return {
      .kernel = "6.1.0 x86_64",
      .findings = {{"kernel", "release", State::kOk, "6.1.0", "unused"},
                   {"limits", "inotify", State::kWarn, "128, \"small\"", "sysctl -w x=1"}},
      .engines = {{.name = "jail", .strength = jail, .why = "because"},
                  {.name = "process", .strength = EngineOutlook::Strength::kFull, .why = "so"}}};
}

TEST(DoctorTable, HasAFixBelowEachGapAndNoneBelowWhatIsOk) {
  const std::string table = doctor_table(sample(EngineOutlook::Strength::kFull), Colour::kPlain);
  EXPECT_THAT(table, HasSubstr("kernel  ok       release  6.1.0\n"));
  EXPECT_THAT(table, HasSubstr("limits  warn     inotify  128, \"small\"\n"));
  EXPECT_THAT(table, HasSubstr("fix: sysctl -w x=1\n"));
  EXPECT_THAT(table, Not(HasSubstr("unused")));
  EXPECT_THAT(table, HasSubstr("jail     yes     jail          because\n"));
  EXPECT_THAT(table, HasSubstr("process  yes     process       so\n"));
}

TEST(DoctorTable, ColourIsOnlyWhereItIsWanted) {
  const DoctorReport report = sample(EngineOutlook::Strength::kFull);
  EXPECT_THAT(doctor_table(report, Colour::kPlain), Not(HasSubstr("\x1b")));
  EXPECT_THAT(doctor_table(report, Colour::kAnsi), HasSubstr("\x1b[32mok"));
}

TEST(DoctorTable, AnEngineThatCannotRunHasNoGrade) {
  const std::string table = doctor_table(sample(EngineOutlook::Strength::kNone), Colour::kPlain);
  EXPECT_THAT(table, HasSubstr("jail     no      -             because\n"));
}

TEST(DoctorJson, IsOneObjectWithTheFieldsPromised) {
  const std::string text = doctor_json(sample(EngineOutlook::Strength::kPartial));
  const boost::json::object whole = boost::json::parse(text).as_object();
  EXPECT_EQ(whole.at("kernel").as_string(), "6.1.0 x86_64");
  const boost::json::object& gap = whole.at("findings").as_array().at(1).as_object();
  EXPECT_EQ(gap.at("area").as_string(), "limits");
  EXPECT_EQ(gap.at("name").as_string(), "inotify");
  EXPECT_EQ(gap.at("state").as_string(), "warn");
  EXPECT_EQ(gap.at("detail").as_string(), "128, \"small\"");
  EXPECT_EQ(gap.at("fix").as_string(), "sysctl -w x=1");
  const boost::json::object& jail = whole.at("engines").as_array().at(0).as_object();
  EXPECT_EQ(jail.at("name").as_string(), "jail");
  EXPECT_TRUE(jail.at("usable").as_bool());
  EXPECT_EQ(jail.at("grade").as_string(), "jail-partial");
  EXPECT_EQ(jail.at("why").as_string(), "because");
}

TEST(DoctorJson, AnEngineThatCannotRunHasANullGrade) {
  const boost::json::value whole =
      boost::json::parse(doctor_json(sample(EngineOutlook::Strength::kNone)));
  const boost::json::object& jail = whole.at("engines").as_array().at(0).as_object();
  EXPECT_FALSE(jail.at("usable").as_bool());
  EXPECT_TRUE(jail.at("grade").is_null());
}

TEST(DoctorCommand, AnUnknownArgumentIsBadUsage) {
  const std::vector<std::string> args = {"--jsn"};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(doctor_command(args), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("'--jsn'"));
}

}  // namespace
}  // namespace glovebox::cli
