// Templates that were made over HTTP: stored, found again by the next server, removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/template_rules.h"
#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TemplateRecord made(std::string project, std::string name) {
  TemplateRecord record{.project = std::move(project),
                        .name = std::move(name),
                        .description = "for \"tests\"; DROP TABLE templates",
                        .key_id = "ky0123456789abcdefghij",
                        .created_ms = 1'700'000'000'123,
                        .definition = {.id = make_dynamic_template_id(),
                                       .from = "python",
                                       .preload = {"json.tool", "re"},
                                       .env = {"A=b=c", "EMPTY="},
                                       .limits = {}}};
  record.dependencies = {.packages = {},
                         .requirements = "",
                         .lock = "lock-version = \"1.0\"\n",
                         .preload = {"x.y"},
                         .host_packages = true};
  record.snapshot = "sn0123456789abcdefghij";
  record.layer = std::string(32, 'a');
  record.definition.image = std::string(32, 'b');
  record.image_name = "docker.io/library/python:3.13-slim";
  record.pool = {1, 8};
  record.session_pool = {2, 3};
  Limits& limits = record.definition.limits;
  limits.wall = std::chrono::milliseconds(12'345);
  limits.cpu_time = std::chrono::milliseconds(77);
  limits.memory_bytes = 5ull << 30;
  limits.disk_bytes = 6ull << 30;
  limits.pids = 9;
  limits.cpu_thousandths = 1500;
  limits.mark_asked_for(LimitKind::kMemory);
  limits.mark_asked_for(LimitKind::kPids);
  return record;
}

class Templates : public StoreTest {
 protected:
  void SetUp() override { open(); }
  Result<> add(const TemplateRecord& one) {
    return answer_of<void>([&](auto done) { store_->add_template(one, done); });
  }
};

TEST_F(Templates, AreThereForTheNextServer) {
  const TemplateRecord first = made("default", "mine");
  const TemplateRecord second = made("other", "mine");
  TemplateRecord plain = made("default", "plain");
  plain.description.clear();
  plain.definition.preload.clear();
  plain.definition.env.clear();
  plain.definition.limits = Limits{};
  plain.dependencies = {};
  plain.snapshot.clear();
  plain.layer.clear();
  plain.definition.image.clear();
  plain.image_name.clear();
  plain.pool.reset();
  plain.session_pool = {};
  for (const TemplateRecord& one : {first, second, plain}) {
    ASSERT_TRUE(add(one));
  }
  EXPECT_THAT(store_->all_templates().value(), ElementsAre(first, second, plain));
  open();
  EXPECT_THAT(store_->all_templates().value(), ElementsAre(first, second, plain));
}

TEST_F(Templates, TheLayerOfItsPackagesMayBecomeAnotherOne) {
  TemplateRecord one = made("default", "mine");
  const TemplateRecord other = made("default", "other");
  ASSERT_TRUE(add(one));
  ASSERT_TRUE(add(other));
  const auto set = [&](const std::string& id) {
    return answer_of<void>(
        [&](auto done) { store_->set_template_layer(id, std::string(32, 'b'), done); });
  };
  EXPECT_TRUE(set(one.definition.id));
  one.layer = std::string(32, 'b');
  EXPECT_THAT(store_->all_templates().value(), ElementsAre(one, other));
  open();
  EXPECT_THAT(store_->all_templates().value(), ElementsAre(one, other));
  const Result<> unknown = set(make_dynamic_template_id());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), Errc::kNotFound);
}

TEST_F(Templates, ANameIsThereOnceInAProject) {
  ASSERT_TRUE(add(made("p", "a")));
  EXPECT_FALSE(add(made("p", "a")));
  EXPECT_TRUE(add(made("q", "a")));
}

TEST_F(Templates, AreRemovedForGood) {
  const TemplateRecord one = made("default", "mine");
  ASSERT_TRUE(add(one));
  const auto remove = [&] {
    return answer_of<void>([&](auto done) { store_->remove_template(one.definition.id, done); });
  };
  EXPECT_TRUE(remove());
  const Result<> again = remove();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Errc::kNotFound);
  open();
  EXPECT_THAT(store_->all_templates().value(), IsEmpty());
}

}  // namespace
}  // namespace glovebox::store
