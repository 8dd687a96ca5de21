#include "launcher/templates/template_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/server/client.h"
#include "model/template_rules.h"

namespace glovebox::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TemplateDefinitionsTest : public ::testing::Test {
 protected:
  TemplateDefinitionsTest() {
    Template python;
    python.name = "python";
    python.description = "the administrator's";
    python.built_in = true;
    python.runtime = RuntimeKind::kPython;
    python.language = "python";
    python.layers = {"/srv/layer"};
    python.preload = {"json", "re"};
    python.env = {"A=base", "B=base"};
    python.pool_min = 2;
    python.pool_max = 4;
    python.session_pool = {1, 2};
    Template base;
    base.name = "base";
    files_ = {base, python};
    policy_.max_memory_bytes = 1ull << 30;
  }
  TemplateDefinition definition(std::string from = "python") {
    return {.id = make_dynamic_template_id(),
            .from = std::move(from),
            .preload = {},
            .env = {},
            .limits = {}};
  }
  Result<> define(const TemplateDefinition& one, const Client* owner) {
    TRY_OK(all_.define(one, owner, files_, policy_));
    return {};
  }
  Errc code_of(const Result<>& done) { return done ? Errc{} : done.error().code(); }

  std::vector<Template> files_;
  Policy policy_;
  TemplateDefinitions all_;
  // Clients are only told apart here.
  const Client* one_ = reinterpret_cast<const Client*>(0x10);
  const Client* other_ = reinterpret_cast<const Client*>(0x20);
};

TEST_F(TemplateDefinitionsTest, ItsLayersAreAboveItsBasesAndStayAsLongAsItIsDefined) {
  const std::string one(kLayerIdSize, '1');
  const std::string two(kLayerIdSize, '2');
  std::map<std::string, std::weak_ptr<const LayerHandle>> used;
  TemplateDefinitions all([&](const std::string& id) -> Result<LayerRef> {
    if (id != one && id != two) return fail(Errc::kNotFound, "layer " + id);
    LayerRef held = std::make_shared<const LayerHandle>(LayerHandle{id, "/sets/" + id + "/tree"});
    used[id] = held;
    return held;
  });
  TemplateDefinition wanted = definition();
  wanted.layers = {one, two};
  const auto made = all.define(wanted, one_, files_, policy_);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(made->layers,
              ElementsAre("/srv/layer", "/sets/" + one + "/tree", "/sets/" + two + "/tree"));
  EXPECT_EQ(all.derive(files_, policy_).at(0).layers, made->layers);
  EXPECT_FALSE(used[one].expired());
  ASSERT_TRUE(all.forget(wanted.id, one_));
  EXPECT_TRUE(used[one].expired());
  EXPECT_TRUE(used[two].expired());

  wanted.layers = {std::string(kLayerIdSize, '3')};
  EXPECT_EQ(all.define(wanted, one_, files_, policy_).error().code(), Errc::kNotFound);
  for (const std::vector<std::string>& bad :
       {std::vector{one, one}, {"../../../etc"}, {""}, std::vector<std::string>(5, one)}) {
    wanted.layers = bad;
    EXPECT_EQ(all.define(wanted, one_, files_, policy_).error().code(), Errc::kInvalidArgument);
  }
  wanted.layers = {one};
  EXPECT_EQ(all_.define(wanted, one_, files_, policy_).error().code(), Errc::kUnsupported);
}

TEST_F(TemplateDefinitionsTest, HaveAtMostFourLayersAndAnImageOnlyWithAStore) {
  TemplateDefinitions all([&](const std::string& id) -> Result<LayerRef> {
    return std::make_shared<const LayerHandle>(LayerHandle{id, "/sets/" + id + "/tree"});
  });
  TemplateDefinition wanted = definition();
  for (const char digit : {'1', '2', '3', '4'}) wanted.layers.emplace_back(kLayerIdSize, digit);
  ASSERT_EQ(wanted.layers.size(), kMaxTemplateLayers);
  EXPECT_TRUE(all.define(wanted, one_, files_, policy_));
  wanted.layers.emplace_back(kLayerIdSize, '5');
  EXPECT_EQ(all.define(wanted, one_, files_, policy_).error().code(), Errc::kInvalidArgument);
  wanted = definition("base");
  wanted.image = std::string(kLayerIdSize, '1');
  EXPECT_TRUE(all.define(wanted, one_, files_, policy_));
  EXPECT_EQ(all_.define(wanted, one_, files_, policy_).error().code(), Errc::kUnsupported);
}

TEST_F(TemplateDefinitionsTest, AnImageTakesThePlaceOfAllFiles) {
  const std::string image(kLayerIdSize, '1');
  std::weak_ptr<const LayerHandle> used;
  TemplateDefinitions all([&](const std::string& id) -> Result<LayerRef> {
    if (id != image) return fail(Errc::kNotFound, "layer " + id);
    LayerRef held = std::make_shared<const LayerHandle>(LayerHandle{id, "/sets/" + id + "/tree"});
    used = held;
    return held;
  });
  files_[0].layers = {"/srv/layer"};
  TemplateDefinition wanted = definition("base");
  wanted.image = image;
  auto made = all.define(wanted, one_, files_, policy_);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->root, "/sets/" + image + "/tree");
  EXPECT_THAT(made->layers, IsEmpty());
  EXPECT_EQ(all.derive(files_, policy_).at(0).root, made->root);
  EXPECT_FALSE(used.expired());
  ASSERT_TRUE(all.forget(wanted.id, one_));
  EXPECT_TRUE(used.expired());

  // With a base that has a runtime, the image's own interpreter waits.
  wanted.from = "python";
  made = all.define(wanted, one_, files_, policy_);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->runtime, RuntimeKind::kPython);
  EXPECT_EQ(made->root, "/sets/" + image + "/tree");
  ASSERT_TRUE(all.forget(wanted.id, one_));
  wanted.layers = {image};
  EXPECT_EQ(all.define(wanted, one_, files_, policy_).error().code(), Errc::kInvalidArgument);
  wanted.layers.clear();
  wanted.image = "../../etc";
  EXPECT_EQ(all.define(wanted, one_, files_, policy_).error().code(), Errc::kInvalidArgument);
  wanted.image = std::string(kLayerIdSize, '2');
  EXPECT_EQ(all.define(wanted, one_, files_, policy_).error().code(), Errc::kNotFound);
}

TEST_F(TemplateDefinitionsTest, IsItsBaseWithAFewThingsChanged) {
  TemplateDefinition wanted = definition();
  wanted.preload = {"re", "json.tool"};
  wanted.env = {"A=own", "C=own"};
  wanted.limits.memory_bytes = 100u << 20;
  wanted.limits.mark_asked_for(LimitKind::kMemory);
  wanted.limits.pids = 3;  // not marked: the base's
  const Template made = derive_template(wanted, files_, policy_).value();
  EXPECT_EQ(made.name, wanted.id);
  EXPECT_FALSE(made.built_in);
  EXPECT_THAT(made.layers, ElementsAre("/srv/layer"));
  EXPECT_THAT(made.preload, ElementsAre("json", "re", "json.tool"));
  EXPECT_THAT(made.env, ElementsAre("B=base", "A=own", "C=own"));
  EXPECT_EQ(made.limits.memory_bytes, 100u << 20);
  EXPECT_EQ(made.limits.pids, Limits{}.pids);
  EXPECT_EQ(made.limits.asked_for, 0);
  EXPECT_EQ(made.pool_min, 0u);
  EXPECT_EQ(made.pool_max, 4u);
  EXPECT_EQ(made.session_pool, PoolBounds{});
  EXPECT_EQ(made.language, "python");
}

TEST_F(TemplateDefinitionsTest, RefusesInvalidDefinitions) {
  EXPECT_EQ(code_of(define(definition("nope"), one_)), Errc::kNotFound);
  TemplateDefinition wanted = definition("base");
  wanted.preload = {"json"};
  EXPECT_EQ(code_of(define(wanted, one_)), Errc::kInvalidArgument);
  wanted = definition();
  wanted.limits.memory_bytes = 2ull << 30;
  wanted.limits.mark_asked_for(LimitKind::kMemory);
  const Result<> past = define(wanted, one_);
  EXPECT_EQ(code_of(past), Errc::kPolicy);
  EXPECT_THAT(past.error().message(), HasSubstr("memory"));
  wanted = definition();
  wanted.id = "python";
  EXPECT_EQ(code_of(define(wanted, one_)), Errc::kInvalidArgument);
  EXPECT_TRUE(all_.derive(files_, policy_).empty());
}

TEST_F(TemplateDefinitionsTest, NotOfAnotherDefinedOne) {
  const TemplateDefinition first = definition();
  ASSERT_TRUE(define(first, one_));
  TemplateDefinition second = definition();
  second.from = first.id;
  EXPECT_EQ(code_of(define(second, one_)), Errc::kInvalidArgument);
}

// The base's own words count too: a server must be able to read what it is told.
TEST_F(TemplateDefinitionsTest, MustFitIntoAMessage) {
  for (int i = 0; i < 60; ++i) files_[1].preload.push_back("m" + std::to_string(i));
  TemplateDefinition wanted = definition();
  wanted.preload = {"a", "b"};
  EXPECT_TRUE(define(wanted, one_));
  wanted = definition();
  wanted.preload = {"a", "b", "c"};
  const Result<> modules = define(wanted, one_);
  EXPECT_EQ(code_of(modules), Errc::kInvalidArgument);
  EXPECT_THAT(modules.error().message(),
              HasSubstr("preload: at most 64 modules, including those of template \"python\""));
}

TEST_F(TemplateDefinitionsTest, NotMoreVariablesThanWithTheBases) {
  TemplateDefinition wanted = definition();
  for (int i = 0; i < 62; ++i) wanted.env.push_back("V" + std::to_string(i) + "=1");
  EXPECT_TRUE(define(wanted, one_));
  wanted.env.push_back("A=own");  // instead of the base's
  EXPECT_TRUE(define(wanted, one_));
  wanted.env.push_back("V62=1");
  const Result<> variables = define(wanted, one_);
  EXPECT_EQ(code_of(variables), Errc::kInvalidArgument);
  EXPECT_THAT(variables.error().message(),
              HasSubstr("env: at most 64 variables, including those of template \"python\""));
}

TEST_F(TemplateDefinitionsTest, NoneWhereTheAdministratorWantsNone) {
  policy_.templates_of_projects = false;
  const Result<> refused = define(definition(), one_);
  EXPECT_EQ(code_of(refused), Errc::kPolicy);
  EXPECT_THAT(refused.error().message(), HasSubstr("templates.of_projects"));
  EXPECT_TRUE(all_.derive(files_, policy_).empty());
}

TEST_F(TemplateDefinitionsTest, EachIsItsOwnersAlone) {
  const TemplateDefinition wanted = definition();
  ASSERT_TRUE(define(wanted, one_));
  EXPECT_TRUE(all_.belongs_to(wanted.id, one_));
  EXPECT_FALSE(all_.belongs_to(wanted.id, other_));
  EXPECT_EQ(code_of(define(wanted, other_)), Errc::kConflict);
  EXPECT_EQ(code_of(all_.forget(wanted.id, other_)), Errc::kNotFound);
  EXPECT_TRUE(define(wanted, one_));  // again, as a server does
  EXPECT_TRUE(all_.forget(wanted.id, one_));
  EXPECT_EQ(code_of(all_.forget(wanted.id, one_)), Errc::kNotFound);
}

TEST_F(TemplateDefinitionsTest, WaitsForAServerThatComesBackButNotForEver) {
  const TemplateDefinition kept = definition();
  const TemplateDefinition lost = definition();
  ASSERT_TRUE(define(kept, one_));
  ASSERT_TRUE(define(lost, one_));
  const auto now = TemplateDefinitions::Clock::now();
  all_.owner_gone(one_, now);
  EXPECT_FALSE(all_.belongs_to(kept.id, one_));
  EXPECT_THAT(all_.remove_orphans(now + std::chrono::seconds(1)), IsEmpty());
  EXPECT_EQ(all_.derive(files_, policy_).size(), 2u);
  ASSERT_TRUE(define(kept, other_));
  EXPECT_THAT(all_.remove_orphans(now + TemplateDefinitions::kOrphanLife), ElementsAre(lost.id));
  EXPECT_TRUE(all_.belongs_to(kept.id, other_));
  EXPECT_EQ(all_.derive(files_, policy_).size(), 1u);
}

TEST_F(TemplateDefinitionsTest, AreBounded) {
  for (std::size_t i = 0; i < TemplateDefinitions::kMaxDefinitions; ++i)
    ASSERT_TRUE(define(definition(), one_));
  EXPECT_EQ(code_of(define(definition(), one_)), Errc::kResourceExhausted);
}

TEST_F(TemplateDefinitionsTest, FollowTheirBase) {
  const TemplateDefinition wanted = definition();
  ASSERT_TRUE(define(wanted, one_));
  files_[1].limits.pids = 77;
  EXPECT_EQ(all_.derive(files_, policy_).at(0).limits.pids, 77u);
  files_.pop_back();
  EXPECT_TRUE(all_.derive(files_, policy_).empty());
}

}  // namespace
}  // namespace glovebox::launcher
