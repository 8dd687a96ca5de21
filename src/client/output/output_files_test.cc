#include "client/output/output_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

class RunFiles : public ::testing::Test {
 protected:
  RunFiles() {
    directory_ = "/tmp/gbx-out-XXXXXX";
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  ~RunFiles() override { std::filesystem::remove_all(directory_); }
  std::string read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(directory_ + "/" + name).rdbuf();
    return text.str();
  }
  Result<> copy(const char* answer, const std::string& guest, const std::string& name) {
    const OutFile files[] = {{guest, directory_ + "/" + name}};
    return copy_out(boost::json::parse(answer).as_object(), files);
  }
  std::string directory_;
};

TEST_F(RunFiles, TextAndBytesAreWrittenWhereTheyWereAskedFor) {
  const char* answer =
      R"({"files":[{"path":"/a","content":"x\n"},{"path":"/b","content_base64":"/wA="}]})";
  ASSERT_TRUE(copy(answer, "/a", "text"));
  ASSERT_TRUE(copy(answer, "/b", "bytes"));
  EXPECT_EQ(read("text"), "x\n");
  EXPECT_EQ(read("bytes"), std::string("\xff\0", 2));
}

TEST_F(RunFiles, AFileThatDidNotComeIsSaidAndTheOldOneStays) {
  std::ofstream(directory_ + "/old") << "old";
  EXPECT_THAT(copy(R"({"files":[]})", "/a", "old").error().message(), HasSubstr("copy out /a"));
  EXPECT_THAT(copy(R"({"files":[],"files_error":"too large"})", "/a", "old").error().message(),
              HasSubstr("too large"));
  EXPECT_EQ(read("old"), "old");
}

TEST_F(RunFiles, ALinkIsNotFollowedAndNothingIsLeft) {
  std::filesystem::create_symlink("/nonexistent", directory_ + "/link");
  EXPECT_FALSE(copy(R"({"files":[{"path":"/a","content":"x"}]})", "/a", "link"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

}  // namespace
}  // namespace glovebox::client
