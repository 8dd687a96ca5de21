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

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() {
    directory_ = "/tmp/gbx-out-XXXXXX";
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  ~OutputFiles() override { std::filesystem::remove_all(directory_); }
  std::string read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(directory_ + "/" + name).rdbuf();
    return text.str();
  }
  Result<> copy(const char* response, const std::string& guest, const std::string& name) {
    const OutputFile files[] = {{guest, directory_ + "/" + name}};
    return write_output_files(boost::json::parse(response).as_object(), files);
  }
  std::string directory_;
};

TEST_F(OutputFiles, WritesTextAndBytes) {
  const char* response =
      R"({"files":[{"path":"/a","content":"x\n"},{"path":"/b","content_base64":"/wA="}]})";
  ASSERT_TRUE(copy(response, "/a", "text"));
  ASSERT_TRUE(copy(response, "/b", "bytes"));
  EXPECT_EQ(read("text"), "x\n");
  EXPECT_EQ(read("bytes"), std::string("\xff\0", 2));
}

TEST_F(OutputFiles, AMissingFileIsAnErrorAndTheOldFileStays) {
  std::ofstream(directory_ + "/old") << "old";
  EXPECT_THAT(copy(R"({"files":[]})", "/a", "old").error().message(), HasSubstr("copy out /a"));
  EXPECT_THAT(copy(R"({"files":[],"files_error":"too large"})", "/a", "old").error().message(),
              HasSubstr("too large"));
  EXPECT_EQ(read("old"), "old");
}

TEST_F(OutputFiles, DoesNotFollowALinkAndLeavesNoDraft) {
  std::filesystem::create_symlink("/nonexistent", directory_ + "/link");
  EXPECT_FALSE(copy(R"({"files":[{"path":"/a","content":"x"}]})", "/a", "link"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_), {}), 1);
}

}  // namespace
}  // namespace glovebox::client
