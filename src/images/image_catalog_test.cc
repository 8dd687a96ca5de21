// Which image a name means, and for whom.
#include "images/image_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "packages/testing/fake_packages.h"

namespace glovebox::images {
namespace {

using ::testing::ElementsAre;

class Catalog : public ::testing::Test {
 protected:
  void keep(char letter, ImageRecord record, std::int64_t used_ms = 1, std::uint64_t bytes = 10) {
    LayerRecord layer;
    layer.id = std::string(kLayerIdSize, letter);
    layer.used_ms = used_ms;
    layer.bytes = bytes;
    layer.note = *image_note(record);
    layers.all[layer.id] = layer;
  }
  template <class T>
  Result<T> wait(Task<T> task) {
    std::optional<Result<T>> result;
    asio::co_spawn(io, std::move(task),
                   [&](std::exception_ptr, Result<T> done) { result.emplace(std::move(done)); });
    io.restart();
    io.run();
    return std::move(*result);
  }
  void load() { ASSERT_TRUE(wait(catalog.load())); }
  char found(const std::string& project, const std::string& said) {
    const auto image = catalog.find(project, said);
    return image ? (*image)->id()[0] : '-';
  }

  asio::io_context io;
  packages::FakeLayers layers;
  ImageCatalog catalog{io, layers};
};

TEST_F(Catalog, AProjectSeesItsOwnAndPublicImages) {
  keep('a', {.project = "one", .names = {"x:latest"}});
  keep('b', {.project = "two", .names = {"x:latest", "y:1"}});
  keep('c', {.project = "ops", .names = {"y:1"}, .is_public = true});
  load();
  EXPECT_EQ(found("one", "x"), 'a');
  EXPECT_EQ(found("two", "x:latest"), 'b');
  EXPECT_EQ(found("one", "y:1"), 'c');
  EXPECT_EQ(found("two", "y:1"), 'b');  // its own first
  EXPECT_EQ(found("three", "x"), '-');
  EXPECT_EQ(found("one", std::string(32, 'b')), '-');
  EXPECT_EQ(found("one", "aaaaaaaa"), 'a');
  EXPECT_EQ(found("one", "aaaaaaa"), '-');
  EXPECT_EQ(catalog.list("one").size(), 2u);
  EXPECT_EQ(catalog.list("*").size(), 3u);
}

TEST_F(Catalog, AnAdministratorsViewDoesNotChooseAmongTheNamesOfProjects) {
  keep('a', {.project = "evil", .names = {"tool:1", "theirs:1"}});
  keep('b', {.project = "ops", .names = {"tool:1"}});
  load();
  EXPECT_EQ(found("*", "tool:1"), '-');
  EXPECT_EQ(catalog.find("*", "tool:1").error().code(), Errc::kNotFound);
  EXPECT_NE(catalog.find("*", "tool:1").error().message().find("several"), std::string::npos);
  EXPECT_EQ(found("ops", "tool:1"), 'b');
  EXPECT_EQ(found("*", "theirs:1"), 'a');
  EXPECT_EQ(found("*", std::string(32, 'b')), 'b');
}

TEST_F(Catalog, ANameIsNotTakenForAnId) {
  // As a server before this rule may have written it.
  keep('a', {.project = "evil", .names = {std::string(32, 'b') + ":latest", "bbbbbbbb:latest"}});
  keep('b', {.project = "ops", .names = {"tool:1"}});
  load();
  EXPECT_EQ(found("*", std::string(32, 'b')), 'b');
  EXPECT_EQ(found("*", "bbbbbbbb"), 'b');
}

TEST_F(Catalog, APublishedNameIsThatOfOneImage) {
  keep('a', {.project = "one", .names = {"x:1", "y:1"}, .is_public = true});
  keep('b', {.project = "two", .names = {"z:1", "y:1"}});
  load();
  EXPECT_EQ(catalog.find_published(std::string(32, 'b'), {"z:1", "y:1"})->id()[0], 'a');
  EXPECT_EQ(catalog.find_published(std::string(32, 'a'), {"x:1"}), nullptr);
  EXPECT_EQ(catalog.find_published(std::string(32, 'c'), {"z:1"}), nullptr);
}

TEST_F(Catalog, OtherLayersAreNoImages) {
  LayerRecord packages;
  packages.id = std::string(kLayerIdSize, 'd');
  packages.note = R"({"form":1})";
  layers.all[packages.id] = packages;
  LayerRecord damaged = packages;
  damaged.id = std::string(kLayerIdSize, 'e');
  damaged.note = std::string(kImageNote) + "{";
  layers.all[damaged.id] = damaged;
  load();
  EXPECT_TRUE(catalog.list("*").empty());
  EXPECT_EQ(catalog.bytes(), 0u);
}

TEST_F(Catalog, ThePinnedStayAndTheLeastUsedGoFirst) {
  keep('a', {.project = "one"}, 30, 1);
  keep('b', {.project = "one"}, 10, 2);
  keep('c', {.project = "two", .is_pinned = true}, 5, 4);
  keep('d', {.project = "two"}, 20, 8);
  load();
  EXPECT_THAT(catalog.oldest_first(),
              ElementsAre(std::string(32, 'b'), std::string(32, 'd'), std::string(32, 'a')));
  EXPECT_EQ(catalog.bytes(), 15u);
  EXPECT_EQ(catalog.bytes_of("two"), 12u);
}

TEST_F(Catalog, TheProjectThatHasMostGivesUpFirst) {
  keep('a', {.project = "victim"}, 1, 50);
  keep('b', {.project = "many"}, 30, 10);
  keep('c', {.project = "many"}, 20, 10);
  keep('d', {.project = "many", .is_pinned = true}, 5, 10);
  load();
  const auto id = [](char letter) { return std::string(kLayerIdSize, letter); };
  EXPECT_THAT(catalog.eviction_order(ImageCatalog::TooMuch::kBytes, {}),
              ElementsAre(id('a'), id('c'), id('b')));
  EXPECT_THAT(catalog.eviction_order(ImageCatalog::TooMuch::kImages, {}),
              ElementsAre(id('c'), id('b'), id('a')));
  EXPECT_THAT(catalog.eviction_order(ImageCatalog::TooMuch::kBytes, id('a')),
              ElementsAre(id('c'), id('b')));
  EXPECT_EQ(catalog.count(), 4u);
  EXPECT_EQ(catalog.count_of("many"), 3u);
}

TEST_F(Catalog, ManyWhoAskAtTheSameTimeShareAList) {
  asio::steady_timer held(io, asio::steady_timer::time_point::max());
  layers.before_list = [&held]() -> asio::awaitable<void> {
    (void)co_await held.async_wait(kAwaitTuple);
  };
  int done = 0;
  const auto ask = [&] {
    asio::co_spawn(io, catalog.load(), [&done](std::exception_ptr, const Result<>& loaded) {
      EXPECT_TRUE(loaded);
      ++done;
    });
  };
  ask();
  io.poll();
  // What these want to see may be newer than the list that is being made.
  keep('a', {.project = "one", .names = {"x:1"}});
  for (int i = 0; i < 20; ++i) ask();
  io.poll();
  EXPECT_EQ(layers.listed, 1);
  layers.before_list = {};
  held.cancel();
  io.run();
  EXPECT_EQ(done, 21);
  EXPECT_EQ(layers.listed, 2);
  EXPECT_EQ(found("one", "x:1"), 'a');
}

TEST_F(Catalog, ChangesAreWrittenToTheLauncher) {
  keep('a', {.project = "one", .names = {"x:latest"}});
  load();
  const std::string id(32, 'a');
  ASSERT_TRUE(wait(catalog.write(id, {.project = "one", .is_pinned = true})));
  EXPECT_TRUE(parse_image_note(layers.all[id].note)->is_pinned);
  EXPECT_EQ(found("one", "x"), '-');
  layers.in_use.insert(id);
  EXPECT_EQ(wait(catalog.drop(id)).error().code(), Errc::kConflict);
  layers.in_use.clear();
  ASSERT_TRUE(wait(catalog.drop(id)));
  EXPECT_EQ(catalog.find_id(id), nullptr);
}

}  // namespace
}  // namespace glovebox::images
