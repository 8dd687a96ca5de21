#include "packages/package_set_key.h"

#include <gtest/gtest.h>

#include "model/layer.h"
#include "model/template_rules.h"

namespace glovebox::packages {
namespace {

PackageSetTarget python() {
  return {.manager = PackageManager::kPip,
          .index = "https://pypi.org/simple",
          .architecture = "x86_64",
          .template_name = "python",
          .template_layers = {},
          .interpreter_mark = "python3.11"};
}

Dependencies packages(std::vector<std::string> names) {
  Dependencies wanted;
  wanted.packages = std::move(names);
  return wanted;
}

TEST(CanonicalPackage, NormalisesSpellings) {
  const auto pip = [](const char* text) { return canonical_package(PackageManager::kPip, text); };
  EXPECT_EQ(pip(" Flask_Login [Async, b] >= 2 , <3"), "flask-login[async,b]<3,>=2");
  EXPECT_EQ(pip("flask.login[b,async]<3,>=2"), "flask-login[async,b]<3,>=2");
  EXPECT_EQ(pip("PyYAML"), "pyyaml");
  EXPECT_EQ(pip("tomli ; python_version < '3.11'"), "tomli;python_version < '3.11'");
  EXPECT_EQ(pip("x==1.0.POST1"), "x==1.0.POST1");
}

TEST(CanonicalPackage, LeavesInvalidTextUnchanged) {
  EXPECT_EQ(canonical_package(PackageManager::kPip, " [what "), "[what");
  EXPECT_EQ(canonical_package(PackageManager::kPip, "a[b"), "a[b");
  // Each is invalid and must not share the key of a valid requirement.
  for (const char* wrong : {"pan das", "pandas,", "numpy==2 .0", "numpy==", "a,b", "a(>=1)", "a[]",
                            "a[b c]", "a >=1,,<2", "A =1"}) {
    EXPECT_EQ(canonical_package(PackageManager::kPip, wrong), wrong);
  }
}

TEST(CanonicalPackage, NpmNamesAreCaseSensitive) {
  EXPECT_EQ(canonical_package(PackageManager::kNpm, " JSONStream@1 "), "JSONStream@1");
}

TEST(LayerId, DependsOnTheLockFile) {
  const std::vector<Artefact> artefacts{{"good", "1.0", "good-1.0.tgz", "sha512-x"}};
  PackageSetTarget locked = python();
  locked.lock = "{}";
  PackageSetTarget other = python();
  other.lock = "{ }";
  EXPECT_NE(layer_id(locked, "node-20", artefacts), layer_id(python(), "node-20", artefacts));
  EXPECT_NE(layer_id(locked, "node-20", artefacts), layer_id(other, "node-20", artefacts));
}

TEST(LayerId, DependsOnTheProjectItIsFor) {
  const std::vector<Artefact> artefacts{{"a", "1", "a.whl", "aa"}};
  PackageSetTarget one = python();
  one.project = "one";
  PackageSetTarget two = python();
  two.project = "two";
  const std::string shared = layer_id(python(), "cpython-3.11", artefacts);
  EXPECT_NE(layer_id(one, "cpython-3.11", artefacts), shared);
  EXPECT_NE(layer_id(one, "cpython-3.11", artefacts), layer_id(two, "cpython-3.11", artefacts));
}

TEST(PackageSetKeys, DependOnWhetherTheHostsPackagesAreVisible) {
  const std::vector<Artefact> artefacts{{"a", "1", "a.whl", "aa"}};
  PackageSetTarget shown = python();
  shown.host_packages = true;
  EXPECT_NE(spec_key(shown, packages({"a"})), spec_key(python(), packages({"a"})));
  EXPECT_NE(layer_id(shown, "cpython-3.11", artefacts),
            layer_id(python(), "cpython-3.11", artefacts));
}

TEST(PackageSetKeys, OfALayerWithItsOwnSiteDirectoryAreNotThoseOfEarlierVersions) {
  PackageSetTarget target = python();
  EXPECT_TRUE(has_own_site(target));
  EXPECT_NE(layer_id(target, "cpython-3.11", {{"a", "1", "a.whl", "aa"}}),
            "fa363ca61556c714c32dea08de1e33dd");
  target.template_layers = {"/opt/x"};
  EXPECT_FALSE(has_own_site(target)) << "modules of the template's layers are there";
  target = python();
  target.host_packages = true;
  EXPECT_FALSE(has_own_site(target));
}

TEST(SpecKey, EqualRequestsShareAKey) {
  const std::string key = spec_key(python(), packages({"NumPy>=2", "requests"}));
  EXPECT_EQ(key.size(), 64u);
  EXPECT_EQ(spec_key(python(), packages({"requests", "numpy >=2", "Requests"})), key);
  Dependencies preloading = packages({"NumPy>=2", "requests"});
  preloading.preload = {"numpy"};
  EXPECT_EQ(spec_key(python(), preloading), key) << "preload changes no layer";
}

TEST(SpecKey, DependsOnEveryInput) {
  std::set<std::string> keys{spec_key(python(), packages({"a", "b"}))};
  const auto add = [&keys](const PackageSetTarget& target, const Dependencies& wanted) {
    EXPECT_TRUE(keys.insert(spec_key(target, wanted)).second);
  };
  add(python(), packages({"a"}));
  add(python(), packages({"a,b"}));
  Dependencies file;
  file.requirements = "a\nb";
  add(python(), file);
  Dependencies lock;
  lock.lock = "a\nb";
  add(python(), lock);
  PackageSetTarget target = python();
  target.index = "https://other/simple";
  add(target, packages({"a", "b"}));
  target = python();
  target.architecture = "aarch64";
  add(target, packages({"a", "b"}));
  target = python();
  target.interpreter_mark = "python3.12";
  add(target, packages({"a", "b"}));
  target = python();
  target.template_name = "python-data";
  add(target, packages({"a", "b"}));
  target = python();
  target.template_layers = {"/opt/x"};
  add(target, packages({"a", "b"}));
  target = python();
  target.manager = PackageManager::kNpm;
  add(target, packages({"a", "b"}));
  for (const char* project : {"one", "two"}) {
    target = python();
    target.project = project;
    add(target, packages({"a", "b"}));
  }
}

// Upgraded servers find the layers of their predecessors, which show the host's packages.
TEST(SpecKey, OfASharedSetIsTheSameInAllVersions) {
  PackageSetTarget older = python();
  older.host_packages = true;
  EXPECT_EQ(spec_key(older, packages({"a", "b"})),
            "9be3cd3dc097926c7fab7387fac998c1784469dd3070a49cbc415944ba680d91");
  EXPECT_EQ(layer_id(older, "cpython-3.11", {{"a", "1", "a.whl", "aa"}}),
            "406280185bbe2582678feaaba0fd2174");
}

TEST(SpecKey, IgnoresLineEndings) {
  Dependencies unix_file;
  unix_file.requirements = "a==1\nb==2";
  Dependencies other;
  other.requirements = "a==1\r\nb==2\r\n";
  EXPECT_EQ(spec_key(python(), unix_file), spec_key(python(), other));
}

TEST(LayerId, IgnoresTheOrderOfArtefacts) {
  const std::vector<Artefact> one = {{"a", "1", "a.whl", "aa"}, {"b", "2", "b.whl", "bb"}};
  const std::vector<Artefact> two = {one[1], one[0]};
  const std::string id = layer_id(python(), "cpython-3.11", one);
  EXPECT_TRUE(is_layer_id(id));
  EXPECT_EQ(layer_id(python(), "cpython-3.11", two), id);
  PackageSetTarget data = python();
  data.template_name = "python-data";
  EXPECT_EQ(layer_id(data, "cpython-3.11", one), id) << "templates share layers";
  EXPECT_NE(layer_id(python(), "cpython-3.12", one), id);
  EXPECT_NE(layer_id(python(), "cpython-3.11", {one[0]}), id);
  EXPECT_NE(layer_id(python(), "cpython-3.11", one, 1), id);
  std::vector<Artefact> other_bytes = one;
  other_bytes[0].sha256 = "ac";
  EXPECT_NE(layer_id(python(), "cpython-3.11", other_bytes), id);
}

TEST(DerivedTemplateId, IsValidAndDependsOnEveryInput) {
  TemplateDefinition definition;
  definition.from = "python";
  definition.layers = {std::string(32, 'a')};
  const std::string id = derived_template_id("p", definition);
  EXPECT_TRUE(is_dynamic_template_id(id)) << id;
  EXPECT_EQ(derived_template_id("p", definition), id);
  EXPECT_NE(derived_template_id("q", definition), id) << "projects never share a zygote";
  EXPECT_NE(derived_template_id("p", definition, 1), id);
  TemplateDefinition other = definition;
  other.preload = {"numpy"};
  EXPECT_NE(derived_template_id("p", other), id);
  other = definition;
  other.env = {"A=b"};
  EXPECT_NE(derived_template_id("p", other), id);
  other = definition;
  other.layers = {std::string(32, 'b')};
  EXPECT_NE(derived_template_id("p", other), id);
}

TEST(AskedText, IsOneShortLine) {
  Dependencies wanted = packages({"a>=1", "b"});
  wanted.requirements = "x\ny\nz";
  EXPECT_EQ(asked_text(wanted), "a>=1, b, requirements.txt (3 lines)");
  Dependencies long_one = packages(std::vector<std::string>(100, std::string(50, 'x') + "\n"));
  EXPECT_LE(asked_text(long_one).size(), 400u);
  EXPECT_EQ(asked_text(long_one).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace glovebox::packages
