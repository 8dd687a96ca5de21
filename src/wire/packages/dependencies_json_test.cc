#include "wire/packages/dependencies_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Result<Dependencies> read(const boost::json::value& value) {
  return read_dependencies(value, "profile.dependencies");
}
Result<Dependencies> read_text(std::string_view text) { return read(boost::json::parse(text)); }

std::string complaint(const boost::json::value& value) {
  const auto wanted = read(value);
  if (wanted) return "taken";
  EXPECT_EQ(wanted.error().code(), Errc::kInvalidArgument);
  return wanted.error().message();
}

std::string of_requirements(std::string_view text) {
  return complaint(boost::json::object{{"requirements", text}});
}

TEST(DependenciesJson, AListIsTheShortFormOfTheObject) {
  const auto list = read_text(R"([" pandas>=2", "numpy", "pandas>=2", "\tzope.interface\n"])");
  ASSERT_TRUE(list) << list.error().message();
  EXPECT_THAT(list->packages, ElementsAre("numpy", "pandas>=2", "zope.interface"));
  EXPECT_EQ(*list, *read_text(R"({"packages": ["numpy", "zope.interface ", "pandas>=2"]})"));
}

TEST(DependenciesJson, NothingSaidIsNothing) {
  for (const char* text : {"[]", "{}", R"({"packages": []})", R"({"packages": null})",
                           R"({"requirements": " \r\n\t"})", R"({"lock": "", "preload": []})"}) {
    const auto wanted = read_text(text);
    ASSERT_TRUE(wanted) << text;
    EXPECT_EQ(*wanted, Dependencies{}) << text;
  }
}

TEST(DependenciesJson, WhatPackagesAreCalled) {
  for (const char* word :
       {"pandas", "pandas>=2,<3", "requests[socks]==2.31.0",
        "foo ~= 1.4 ; python_version < \"3.9\"", "lodash", "lodash@4", "lodash@^4.17",
        "@types/node", "@types/node@20.1 || 21", "a!=1.*", "3to2", "foo (>=1)"}) {
    EXPECT_TRUE(check_package_specifier(word))
        << word << ": " << check_package_specifier(word).error().message();
  }
}

TEST(DependenciesJson, NoOptionsPathsOrAddresses) {
  for (const char* word : {"-r",
                           "--index-url=x",
                           "-e .",
                           ".",
                           "./x",
                           "../x",
                           "/etc/passwd",
                           "~/x",
                           "a/b",
                           "a\\b",
                           "https://evil.example/x.whl",
                           "x @ https://evil.example/x",
                           "x@https://evil.example",
                           "x@file:y",
                           "x @ y",
                           "x@ y",
                           "git+https://x",
                           "x@npm:y",
                           "@a/b/c",
                           "@/x",
                           "@a/",
                           "@a/.x",
                           "@",
                           "x.whl",
                           "x.tar.gz",
                           "X.ZIP",
                           "x.tgz[extra]",
                           "x.whl>=1",
                           "user/repo",
                           "C:x",
                           "x#egg=y",
                           "pan das",
                           "pandas,",
                           "pandas>=",
                           "pandas >=2,",
                           "a;",
                           "a[",
                           "a*b",
                           "a, b",
                           "a-",
                           "a.",
                           "${HOME}",
                           "$HOME",
                           "`id`",
                           "=x",
                           "*",
                           "x%20y",
                           "x?y",
                           "{x}",
                           "'x'"}) {
    EXPECT_FALSE(check_package_specifier(word)) << word;
  }
  EXPECT_FALSE(check_package_specifier(std::string("a\0b", 3)));
  EXPECT_FALSE(check_package_specifier("a\nb"));
  EXPECT_FALSE(check_package_specifier("a\x7f"));
  EXPECT_FALSE(check_package_specifier("p\xc3\xa4ndas"));
  for (const char* line : {"a==1 \x7f", "a==1 \x1f"}) {
    EXPECT_THAT(of_requirements(line), HasSubstr("no control characters")) << line;
  }
  for (const char* line : {"a\t==1", "a==1 \xc3\xa4"}) {
    EXPECT_THAT(of_requirements(line), HasSubstr("printable ASCII")) << line;
  }
  EXPECT_EQ(of_requirements("a>=1  # \xc3\xa4\n"), "taken");
  EXPECT_FALSE(check_package_specifier(""));
  EXPECT_TRUE(check_package_specifier(std::string(kMaxDependencyBytes, 'a')));
  EXPECT_FALSE(check_package_specifier(std::string(kMaxDependencyBytes + 1, 'a')));
}

TEST(DependenciesJson, ANameBeginsWithALetterOrADigitOfAscii) {
  for (const char* word : {"a", "z", "A", "Z", "0x", "9x", "@a/a", "@a/z", "@a/9"}) {
    EXPECT_TRUE(check_package_specifier(word)) << word;
  }
  for (const char* word : {"`a", "{a", "[a", "/a", ":a", "_a", "@", "@/a", "@a/", "@a/-b", "a.ZIP",
                           "a.TAR.GZ", "a.WHL", "a\x7f", "a\x1f"}) {
    EXPECT_FALSE(check_package_specifier(word)) << word;
  }
}

TEST(DependenciesJson, TakesEverythingUpToItsBound) {
  boost::json::array most;
  for (std::size_t i = 0; i < kMaxDependencies; ++i) most.push_back("a");
  EXPECT_EQ(complaint(most), "taken");
  EXPECT_TRUE(check_package_specifier(std::string(kMaxDependencyBytes, 'a')));
  EXPECT_FALSE(check_package_specifier(std::string(kMaxDependencyBytes + 1, 'a')));
  EXPECT_THAT(of_requirements(std::string(kMaxRequirementsBytes, '#')),
              ::testing::Not(HasSubstr("at most")));
}

TEST(DependenciesJson, AComplaintNamesItsPlace) {
  EXPECT_THAT(complaint({"a", "b", "--pre"}),
              StartsWith("profile.dependencies[2]: must be a pack"));
  EXPECT_THAT(complaint({"a", 7}), StartsWith("profile.dependencies[1]: must be a string"));
  EXPECT_THAT(complaint(boost::json::object{{"packages", {"a", " "}}}),
              StartsWith("profile.dependencies.packages[1]: must not be empty"));
  EXPECT_THAT(complaint("pandas"), StartsWith("profile.dependencies: must be a list"));
  EXPECT_THAT(complaint(boost::json::object{{"package", boost::json::array()}}),
              HasSubstr("did you mean \"packages\""));
  EXPECT_THAT(complaint(boost::json::object{{"requirements", 1}}),
              StartsWith("profile.dependencies.requirements: "));
  boost::json::array many;
  for (std::size_t i = 0; i <= kMaxDependencies; ++i) many.push_back("a");
  EXPECT_THAT(complaint(many), StartsWith("profile.dependencies: must have at most 100"));
}

TEST(DependenciesJson, ALockStandsAlone) {
  EXPECT_THAT(complaint(boost::json::object{{"lock", "x"}, {"packages", {"a"}}}),
              StartsWith("profile.dependencies.lock: cannot be combined"));
  EXPECT_THAT(complaint(boost::json::object{{"lock", "x"}, {"requirements", "a"}}),
              StartsWith("profile.dependencies.lock: cannot be combined"));
  const auto both = read_text(R"({"packages": ["a"], "requirements": "b\r\nc\r\n"})");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->requirements, "b\nc");
}

TEST(DependenciesJson, PreloadGoesWithPackages) {
  const auto wanted = read_text(R"({"packages": ["a"], "preload": ["z.y", "a", "z.y"]})");
  ASSERT_TRUE(wanted);
  EXPECT_THAT(wanted->preload, ElementsAre("z.y", "a"));
  EXPECT_THAT(complaint(boost::json::object{{"preload", {"a"}}}),
              StartsWith("profile.dependencies.preload: goes with"));
  EXPECT_THAT(complaint(boost::json::object{{"packages", {"a"}}, {"preload", {"a", "-c"}}}),
              StartsWith("profile.dependencies.preload[1]: must be the name"));
}

TEST(DependenciesJson, TextsHaveNoControlCharacters) {
  EXPECT_THAT(of_requirements(std::string("a\0b", 3)), HasSubstr("control characters"));
  EXPECT_THAT(of_requirements("a\rb"), HasSubstr("control characters"));
  EXPECT_THAT(of_requirements("a\x0c-r x"), HasSubstr("control characters"));
  // Python begins a new line there.
  for (const char* text : {"a # \xe2\x80\xa8-r x", "a # \xc2\x85-r x", "a # \xe2\x80\xa9-r x"}) {
    EXPECT_THAT(of_requirements(text), HasSubstr("control characters"));
  }
  EXPECT_THAT(of_requirements(std::string(kMaxRequirementsBytes + 1, '#')), HasSubstr("at most"));
}

TEST(DependenciesJson, RequirementsAsPipReadsThem) {
  const std::string hash(64, 'a');
  EXPECT_EQ(of_requirements("# made by us, \xc3\xbc\n"
                            "--require-hashes\n"
                            "--pre\n"
                            "\n"
                            "requests==2.31.0 \\\n"
                            "    --hash=sha256:" +
                            hash +
                            " \\\n"
                            "    --hash=sha512:" +
                            hash +
                            "  # why\n"
                            "    # via nobody\n"
                            "colorama==0.4.6 ; platform_system == \"Windows\" --hash=sha256:" +
                            hash +
                            "\nfoo[bar]>=1  # -r nothing\n"
                            "last \\\n"),
            "taken");
}

TEST(DependenciesJson, AByteOrderMarkInFrontSaysNothing) {
  for (const char* name : {"requirements", "lock"}) {
    const auto plain = read_text("{\"" + std::string(name) + "\": \"six\\n\"}");
    const auto marked = read_text("{\"" + std::string(name) + "\": \"\\ufeffsix\\r\\n\"}");
    ASSERT_TRUE(plain && marked) << name;
    EXPECT_EQ(*marked, *plain);
  }
  EXPECT_FALSE(read_text("{\"requirements\": \"six\\n\\ufeffidna\"}")) << "only in front";
}

TEST(DependenciesJson, RequirementsHaveNoOptionsEither) {
  for (const char* text : {"-r /home/user/in/pip.conf",
                           "-c x",
                           "-e .",
                           "--index-url https://evil.example",
                           "-i x",
                           "-f x",
                           "--find-links=x",
                           "--no-binary :all:",
                           "--trusted-host x",
                           "\t-r x",
                           "a\n  -r x",
                           "-\\\nr x",
                           "\\\n-r x",
                           "\\-r x\\\n",
                           "a\n#b\\\n-r x",
                           "a --global-option=x",
                           "a --config-settings=x",
                           "a --hash=md5:abc",
                           "a --hash sha256:ab",
                           "a --hash=sha256:ab -r x",
                           "a --hash=sha256:ab b",
                           "a @ https://evil.example/a.whl",
                           "a@b",
                           "./a",
                           "file:///etc/passwd",
                           "a.whl",
                           "${TOKEN}",
                           "a#b",
                           "a\t-r x",
                           "\xc2\xa0-r x",
                           "p\xc3\xa4ndas",
                           "--pre --pre",
                           "--require-hashes -r x"}) {
    EXPECT_THAT(of_requirements(text), StartsWith("profile.dependencies.requirements: line "))
        << text;
  }
  EXPECT_THAT(of_requirements("a\n\nb\\\n\n-r c"),
              StartsWith("profile.dependencies.requirements: line 5"));
}

TEST(DependenciesJson, ReadsWhetherTheHostsPackagesAreVisible) {
  EXPECT_EQ(read_text(R"({"packages": ["a"], "host_packages": true})")->host_packages, true);
  EXPECT_EQ(read_text(R"({"packages": ["a"], "host_packages": false})")->host_packages, false);
  EXPECT_EQ(read_text(R"({"packages": ["a"]})")->host_packages, std::nullopt);
  EXPECT_THAT(complaint(boost::json::object{{"host_packages", false}}),
              StartsWith("profile.dependencies.host_packages: goes with"));
}

TEST(DependenciesJson, WhatIsWrittenIsReadAsTheSame) {
  for (const char* text : {"[]", R"(["b", "a"])", R"({"lock": "x\n[y]"})",
                           R"({"packages": ["a"], "requirements": "b\n# c", "preload": ["d"]})",
                           R"({"packages": ["a"], "host_packages": false})"}) {
    const auto wanted = read_text(text);
    ASSERT_TRUE(wanted);
    EXPECT_EQ(*read(dependencies_json(*wanted)), *wanted);
  }
  EXPECT_THAT(dependencies_json(Dependencies{}), IsEmpty());
}

}  // namespace
}  // namespace glovebox::wire
