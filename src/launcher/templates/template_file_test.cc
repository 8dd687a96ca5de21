#include "launcher/templates/template_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace glovebox::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Template parse(const std::string& text) { return parse_template(text, "t", "t.toml").value(); }
std::string error_of(const std::string& text) {
  const auto made = parse_template(text, "t", "/etc/glovebox/templates/t.toml");
  return made ? "none" : made.error().message();
}

// A directory of root's, as /etc/glovebox/templates is.
class TemplateDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "files of root's can only be made by root";
    char path[] = "/tmp/gbx-templates-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    path_ = path;
    ::chmod(path, 0755);
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    const std::string path = path_ + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  const TemplateFile* find(const std::vector<TemplateFile>& all, const std::string& name) {
    for (const TemplateFile& one : all) {
      if (one.name == name) return &one;
    }
    return nullptr;
  }
  std::string path_;
};

TEST(Template, BuiltInOnesAreThereAndSound) {
  std::vector<std::string> names;
  for (const Template& one : built_in_templates()) {
    names.push_back(one.name);
    EXPECT_TRUE(one.built_in);
    EXPECT_FALSE(one.description.empty());
    EXPECT_GE(one.pool_min, 1u);
  }
  EXPECT_THAT(names, ElementsAre("base", "node", "python", "python-data"));
}

TEST(Template, TheDataTemplateStartsNoThreadsAndHasRoom) {
  const Template data = built_in_templates().at(3);
  EXPECT_THAT(data.env, ::testing::Contains("OPENBLAS_NUM_THREADS=1"));
  EXPECT_THAT(data.env, ::testing::Contains("OMP_NUM_THREADS=1"));
  EXPECT_THAT(data.preload, ::testing::IsSupersetOf({"numpy", "pandas", "matplotlib.pyplot"}));
  EXPECT_EQ(data.limits.memory_bytes, 1ull << 30);
}

TEST(Template, OnlyTheDataTemplateKeepsTheHostsPackagesBesideOthers) {
  for (const Template& made : built_in_templates()) {
    EXPECT_EQ(made.host_packages, made.name == "python-data") << made.name;
  }
}

TEST(Template, AMegabyteIsEnough) {
  const Template made = parse("[profile]\nmemory = '1M'\ndisk = '1M'\n");
  EXPECT_EQ(made.limits.memory_bytes, 1u << 20);
  EXPECT_EQ(made.limits.disk_bytes, 1u << 20);
}

TEST(Template, ReadsEveryKey) {
  const Template made = parse(
      "description = 'd'\nruntime = 'python'\nlanguage = 'r'\nlayers = ['/srv/a', '/srv/b']\n"
      "preload = ['numpy', 'os.path']\nhost_packages = true\n[env]\nB = '1'\nA = 'x "
      "y'\n[profile]\ntimeout = '2m'\n"
      "cpu_time = '500ms'\nmemory = '1G'\ndisk = '64M'\npids = 7\ncpus = 1.5\n[pool]\nmin = 3\n"
      "max = 9\n");
  EXPECT_EQ(made.description, "d");
  EXPECT_EQ(made.runtime, RuntimeKind::kPython);
  EXPECT_EQ(made.language, "r");
  EXPECT_THAT(made.layers, ElementsAre("/srv/a", "/srv/b"));
  EXPECT_THAT(made.preload, ElementsAre("numpy", "os.path"));
  EXPECT_TRUE(made.host_packages);
  EXPECT_THAT(made.env, ElementsAre("A=x y", "B=1"));
  EXPECT_EQ(made.limits.wall, std::chrono::minutes(2));
  EXPECT_EQ(made.limits.cpu_time, std::chrono::milliseconds(500));
  EXPECT_EQ(made.limits.memory_bytes, 1ull << 30);
  EXPECT_EQ(made.limits.disk_bytes, 64ull << 20);
  EXPECT_EQ(made.limits.pids, 7u);
  EXPECT_EQ(made.limits.cpu_thousandths, 1500u);
  EXPECT_EQ(made.pool_min, 3u);
  EXPECT_EQ(made.pool_max, 9u);
  EXPECT_FALSE(made.built_in);
}

TEST(Template, UnsetKeysHaveDefaults) {
  const Template made = parse("runtime = 'node'\n");
  EXPECT_EQ(made.language, "javascript");
  EXPECT_EQ(made.limits, Limits{});
  EXPECT_EQ(made.pool_min, 0u);
  EXPECT_EQ(made.pool_max, kDefaultPoolMax);
  EXPECT_EQ(parse("").language, "shell");
  EXPECT_EQ(parse("[pool]\nmin = 20\n").pool_max, 20u);
  EXPECT_EQ(parse("[pool]\nmax = 0\n").pool_max, 0u);
}

TEST(Template, PersistentSandboxesWaitWhereTheFileSaysSo) {
  EXPECT_EQ(parse("").session_pool, PoolBounds{});
  EXPECT_EQ(parse("[session_pool]\nmin = 2\n").session_pool, (PoolBounds{2, 2}));
  EXPECT_EQ(parse("[session_pool]\nmin = 1\nmax = 3\n").session_pool, (PoolBounds{1, 3}));
  EXPECT_THAT(error_of("[session_pool]\nmin = 3\nmax = 1\n"), HasSubstr("a min above its max"));
  EXPECT_THAT(error_of("[session_pool]\nmost = 3\n"), HasSubstr("unknown key session_pool.most"));
}

TEST(Template, AnUnknownKeyIsAnErrorWithItsFileLineAndName) {
  EXPECT_EQ(error_of("runtime = 'none'\npreloads = []\n"),
            "/etc/glovebox/templates/t.toml:2: unknown key preloads");
  EXPECT_EQ(error_of("[pool]\nmin = 1\n\nmiddle = 2\n"),
            "/etc/glovebox/templates/t.toml:4: unknown key pool.middle");
  EXPECT_THAT(error_of("[profile]\nwall = '1s'\n"),
              HasSubstr("t.toml:2: unknown key profile.wall"));
  EXPECT_THAT(error_of("\n\n[limits]\n"), HasSubstr("t.toml:3: unknown key limits"));
}

TEST(Template, AWrongValueIsAnErrorWithItsFileLineAndName) {
  const struct {
    const char* text;
    const char* says;
  } kCases[] = {
      {"runtime = 'ruby'", "t.toml:1: runtime must be"},
      {"runtime = 1", "t.toml:1: runtime must be a string"},
      {"description = \"a\\nb\"", "description must be one line"},
      {"description = \"\\u0000\"", "description must be one line"},
      {"language = 'Python'", "language must consist of lower-case letters"},
      {"layers = ['srv']", "layers must contain absolute paths"},
      {"layers = ['/srv/../etc']", "layers must contain absolute paths"},
      {"layers = ['/srv//a']", "layers must contain absolute paths"},
      {"layers = ['/']", "layers must contain absolute paths"},
      {"layers = '/srv'", "layers must be a list"},
      {"layers = ['/a', '/a']", "layers names /a twice"},
      {"runtime = 'python'\npreload = ['import os']",
       "t.toml:2: preload must contain module names"},
      {"runtime = 'python'\npreload = ['a..b']", "preload must contain module names"},
      {"runtime = 'python'\npreload = ['-m']", "preload must contain module names"},
      {"runtime = 'python'\nhost_packages = 'yes'",
       "t.toml:2: host_packages must be true or false"},
      {"runtime = 'node'\nhost_packages = true",
       "t.toml:2: host_packages needs runtime = \"python\""},
      {"runtime = 'node'\npreload = ['fs']", "t.toml:2: preload needs runtime = \"python\""},
      {"[env]\n'A=B' = 'x'", "env.A=B is not a valid name of a variable"},
      {"[env]\nA = 1", "t.toml:2: env.A must be a string"},
      {"env = 'A'", "env must be a section"},
      {"[profile]\ntimeout = 5", "profile.timeout must be a string"},
      {"[profile]\ntimeout = '0s'", "t.toml:2: profile.timeout: a time must be at least 1ms"},
      {"[profile]\nmemory = '12X'", "t.toml:2: profile.memory: unknown unit of size"},
      {"[profile]\nmemory = '1K'", "profile.memory must be at least one megabyte"},
      {"[profile]\npids = 1", "profile.pids must be a whole number"},
      {"[profile]\ncpus = nan", "profile.cpus must be a number of CPUs"},
      {"[profile]\ncpus = -1", "profile.cpus must be a number of CPUs"},
      {"[profile]\ncpus = '2'", "profile.cpus must be a number of CPUs"},
      {"[pool]\nmin = -1", "pool.min must be a whole number"},
      {"[pool]\nmin = 2.0", "pool.min must be a whole number"},
      {"[pool]\nmin = 3\nmax = 2", "pool has a min above its max"},
      {"[pool\nmin = 3", "t.toml:1: "},
      {"[)", "t.toml:1: "},
      {"\n\xff", "t.toml:2: contains characters that are not printable ASCII"},
  };
  for (const auto& one : kCases) EXPECT_THAT(error_of(one.text), HasSubstr(one.says)) << one.text;
}

TEST(Template, ValuesAreTakenUpToTheirBounds) {
  const auto list = [](std::size_t count) {
    std::string text = "layers = [";
    for (std::size_t i = 0; i < count; ++i) text += "'/l" + std::to_string(i) + "',";
    return text + "]";
  };
  const struct {
    std::string good;
    std::string bad;
  } kCases[] = {
      {"description = '" + std::string(4096, 'a') + "'",
       "description = '" + std::string(4097, 'a') + "'"},
      {"description = ' ~'", "description = \"\\u007f\""},
      {"description = ''", "description = \"\\u001f\""},
      {list(64), list(65)},
      {"layers = ['/a']", "layers = ['a']"},
      {"layers = ['/a/b']", "layers = ['/a/']"},
      {"[profile]\ncpus = 0.01", "[profile]\ncpus = 0.0099"},
      {"[profile]\ncpus = 4096", "[profile]\ncpus = 4096.1"},
      {"[profile]\nmemory = '1M'", "[profile]\nmemory = '1023K'"},
      {"[profile]\ndisk = '1M'", "[profile]\ndisk = '1023K'"},
      {"[profile]\npids = 2", "[profile]\npids = 1"},
      {"[profile]\npids = 4194304", "[profile]\npids = 4194305"},
      {"[pool]\nmin = 3\nmax = 3", "[pool]\nmin = 4\nmax = 3"},
      {"[pool]\nmax = 1024", "[pool]\nmax = 1025"},
      {"[pool]\nmin = 0", "[pool]\nmin = -1"},
      {"[session_pool]\nmin = 2\nmax = 2", "[session_pool]\nmin = 3\nmax = 2"},
      {"# ~ \t\r\n", "# \x7f"},
      {"", "# \x1f"},
  };
  for (const auto& [good, bad] : kCases) {
    EXPECT_EQ(error_of(good), "none") << good.substr(0, 60);
    EXPECT_NE(error_of(bad), "none") << bad.substr(0, 60);
  }
}

TEST(Template, ANameIsSafeInPathsAndCommands) {
  for (const char* name : {"", "A", "1a", "a b", "a/b", "..", "a.b", "-a", "a_b"}) {
    EXPECT_FALSE(parse_template("", name, "f")) << name;
  }
  EXPECT_FALSE(parse_template("", std::string(33, 'a'), "f"));
  EXPECT_TRUE(parse_template("", std::string(32, 'a'), "f"));
}

TEST(Template, AMissingDirectoryMeansTheBuiltInOnes) {
  const auto all = load_templates("/nonexistent/templates");
  EXPECT_EQ(all.size(), built_in_templates().size());
  for (const TemplateFile& one : all) EXPECT_TRUE(one.content) << one.name;
}

TEST_F(TemplateDirectory, AddsAndReplaces) {
  write("science.toml", "runtime = 'python'\npreload = ['scipy']\n");
  write("python.toml", "runtime = 'python'\n[pool]\nmax = 1\n");
  write("README", "not a template");
  write(".science.toml.swp", "x");
  const auto all = load_templates(path_);
  EXPECT_EQ(all.size(), built_in_templates().size() + 1);
  EXPECT_EQ(find(all, "science")->content->preload, std::vector<std::string>{"scipy"});
  EXPECT_EQ(find(all, "python")->content->pool_max, 1u);
  EXPECT_FALSE(find(all, "python")->content->built_in);
  EXPECT_TRUE(find(all, "base")->content->built_in);
}

TEST_F(TemplateDirectory, AFileHasAtMost64Kilobytes) {
  const std::string path = write("most.toml", std::string(64 << 10, '#'));
  write("more.toml", std::string((64 << 10) + 1, '#'));
  write(".toml", "runtime = 'ruby'\n");  // an editor's, not one without a name
  const auto all = load_templates(path_);
  EXPECT_EQ(all.size(), built_in_templates().size() + 2);
  EXPECT_TRUE(find(all, "most")->content) << path;
  ASSERT_FALSE(find(all, "more")->content);
  EXPECT_THAT(find(all, "more")->content.error().message(), HasSubstr("larger than 64 KB"));
}

TEST_F(TemplateDirectory, ABadFileSpoilsOnlyItsOwnTemplate) {
  const std::string path = write("python.toml", "runtime = 'python'\npool_max = 1\n");
  write("Bad Name.toml", "");
  const auto all = load_templates(path_);
  ASSERT_FALSE(find(all, "python")->content)
      << "a mistyped file must not fall back to the built-in";
  EXPECT_EQ(find(all, "python")->content.error().message(), path + ":2: unknown key pool_max");
  EXPECT_FALSE(find(all, "Bad Name")->content);
  EXPECT_TRUE(find(all, "python-data")->content);
}

TEST_F(TemplateDirectory, OneByItselfIsAsAmongAll) {
  write("base.toml", "runtime = \"none\"\nunknown = 1\n");
  write("mine.toml", "runtime = \"python\"\n");
  const auto all = load_templates(path_);
  for (const std::string name : {"base", "node", "mine", "python-data"}) {
    const auto one = load_template(path_, name);
    ASSERT_EQ(one.size(), 1u) << name;
    const TemplateFile* among = find(all, name);
    ASSERT_NE(among, nullptr);
    EXPECT_EQ(one[0].name, name);
    EXPECT_EQ(one[0].file, among->file);
    ASSERT_EQ(one[0].content.has_value(), among->content.has_value()) << name;
    if (!one[0].content) continue;
    EXPECT_EQ(*one[0].content, *among->content) << name;
  }
  EXPECT_FALSE(load_template(path_, "base")[0].content) << "no fallback to the built-in one";
  EXPECT_TRUE(load_template(path_, "none").empty());
  EXPECT_TRUE(load_template(path_, "../base").empty());
}

TEST_F(TemplateDirectory, WhatOthersMayWriteIsRefused) {
  write("open.toml", "", 0666);
  const std::string foreign = write("foreign.toml", "");
  ASSERT_EQ(::chown(foreign.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (path_ + "/link.toml").c_str()), 0);
  ASSERT_EQ(::mkfifo((path_ + "/fifo.toml").c_str(), 0644), 0);
  const auto all = load_templates(path_);
  for (const char* name : {"open", "foreign", "link", "fifo"}) {
    ASSERT_NE(find(all, name), nullptr) << name;
    EXPECT_FALSE(find(all, name)->content) << name;
  }
  ::chmod(path_.c_str(), 0777);
  const auto none = load_templates(path_);
  EXPECT_EQ(none.size(), built_in_templates().size() + 1);
  EXPECT_FALSE(none.back().content);
  EXPECT_EQ(none.back().file, path_);
}

}  // namespace
}  // namespace glovebox::launcher
