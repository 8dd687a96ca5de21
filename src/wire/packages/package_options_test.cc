#include "wire/packages/package_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glovebox::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class PackageOptionsTest : public ::testing::Test {
 protected:
  PackageOptionsTest() {
    char path[] = "/tmp/gbx-options-XXXXXX";
    directory_ = ::mkdtemp(path);
  }
  ~PackageOptionsTest() override { std::filesystem::remove_all(directory_); }
  std::string file(const std::string& text) {
    const std::string path = directory_ + "/file";
    std::ofstream(path) << text;
    return path;
  }
  static std::string complaint(const PackageOptions& options) {
    const auto read = read_package_options(options);
    return read ? "taken" : read.error().message();
  }
  std::string directory_;
};

TEST_F(PackageOptionsTest, BecomeDependencies) {
  PackageOptions options;
  options.with = {"pandas>=2,<3", " numpy"};
  options.requirements = file("a==1\r\nb\r\n");
  options.preload = {"pandas,numpy.linalg", "numpy"};
  const auto wanted = read_package_options(options);
  ASSERT_TRUE(wanted) << wanted.error().message();
  EXPECT_THAT(wanted->packages, ElementsAre("numpy", "pandas>=2,<3"));
  EXPECT_EQ(wanted->requirements, "a==1\nb");
  EXPECT_THAT(wanted->preload, ElementsAre("pandas", "numpy.linalg", "numpy"));
  EXPECT_EQ(wanted->host_packages, std::nullopt) << "the template decides";
  options.host_packages = true;
  EXPECT_EQ(read_package_options(options)->host_packages, true);
  EXPECT_TRUE(options.names_packages());
  EXPECT_FALSE(PackageOptions{}.is_given());
}

TEST_F(PackageOptionsTest, AMistakeNamesTheOption) {
  EXPECT_THAT(complaint({.with = {"a", "./x"}}), StartsWith("--with ./x: must name a package"));
  EXPECT_THAT(complaint({.with = {"--pre"}}), StartsWith("--with --pre: must be a package"));
  EXPECT_THAT(complaint({.requirements = directory_ + "/none"}), HasSubstr("No such file"));
  EXPECT_THAT(complaint({.requirements = file("\n")}), HasSubstr("is empty"));
  EXPECT_THAT(complaint({.requirements = file("a\n-r b\n")}),
              StartsWith("--requirements: line 2: "));
  EXPECT_THAT(complaint({.lock = file("\xff")}), HasSubstr("is not UTF-8"));
  EXPECT_THAT(complaint({.lock = file(std::string(kMaxRequirementsBytes + 1, 'a'))}),
              HasSubstr("is larger than 256 KB"));
  EXPECT_EQ(complaint({.lock = file(std::string(kMaxRequirementsBytes, 'a'))}).find("larger"),
            std::string::npos);
  EXPECT_EQ(complaint({.with = std::vector<std::string>(kMaxDependencies, "a")}), "taken");
  EXPECT_FALSE(PackageOptions{}.host_packages);
  EXPECT_THAT(complaint({.with = {"a"}, .lock = file("x")}),
              StartsWith("--lock: cannot be combined"));
  EXPECT_THAT(complaint({.with = {"a"}, .preload = {"a,"}}), StartsWith("--preload[1]: must be"));
  EXPECT_THAT(complaint({.preload = {"a"}}), StartsWith("--preload: goes with"));
  EXPECT_THAT(complaint({.preload = {"a"}}), HasSubstr("--requirements"));
  EXPECT_THAT(complaint({.host_packages = true}), StartsWith("--host-packages: goes with"));
  EXPECT_THAT(complaint({.with = std::vector<std::string>(kMaxDependencies + 1, "a")}),
              StartsWith("--with: at most 100 packages"));
  EXPECT_THAT(complaint({.requirements = directory_}), HasSubstr("directory"));
}

TEST_F(PackageOptionsTest, TheTemplateIsThatOfTheirLanguage) {
  EXPECT_EQ(default_template(*read_package_options({.with = {"a"}})), "python");
  EXPECT_EQ(default_template(*read_package_options({.lock = file("lock-version = '1.0'\n")})),
            "python");
  EXPECT_EQ(default_template(*read_package_options({.lock = file("\n{\"name\": \"x\"}")})), "node");
}

}  // namespace
}  // namespace glovebox::wire
