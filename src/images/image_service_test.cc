// What one project may have of the disk, the number of images and the launcher's time.
#include "images/image_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "node/testing/fake_services.h"
#include "packages/testing/fake_package_service.h"
#include "packages/testing/fake_packages.h"
#include "store/testing/store_fixture.h"

namespace glovebox::images {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMegabyte = 1 << 20;

class Silent final : public ImageProgress {
 public:
  asio::awaitable<bool> on_progress(std::string, std::string) override { co_return true; }
};

// Zeros, which are no archive; then an end, which the test may hold back.
class Zeros final : public ImageSource {
 public:
  explicit Zeros(std::uint64_t bytes) : left_(bytes) {}
  Task<std::size_t> read_some(char* into, std::size_t size) override {
    const std::size_t some = static_cast<std::size_t>(std::min<std::uint64_t>(left_, size));
    std::fill_n(into, some, '\0');
    left_ -= some;
    if (some == 0 && held != nullptr) {
      is_waiting = true;
      (void)co_await held->async_wait(kAwaitTuple);
    }
    co_return some;
  }
  asio::steady_timer* held = nullptr;
  bool is_waiting = false;

 private:
  std::uint64_t left_;
};

class ImageServiceTest : public ::testing::Test {
 protected:
  ImageServiceTest() {
    options.directory = directory.path() + "/images";
    options.disk_ceiling = 16 * kMegabyte;
    options.max_bytes = 100 * kMegabyte;
    options.now = [this] { return now; };
  }
  ImageService& service() {
    if (!made) {
      const ImageService::Services services{io, sessions, layers, packages};
      made = std::make_unique<ImageService>(services, options);
    }
    return *made;
  }
  void keep(char letter, const std::string& project, std::uint64_t bytes = 10) {
    LayerRecord layer;
    layer.id = std::string(kLayerIdSize, letter);
    layer.bytes = bytes;
    layer.note = *image_note({.project = project, .names = {std::string(1, letter) + ":latest"}});
    layers.all[layer.id] = layer;
  }
  Result<LoadedImage> load(const std::string& project, ImageSource& source) {
    LoadRequest wanted{.project = project, .name = "x:latest", .is_tree = false};
    return packages::run_task(io, service().load(std::move(wanted), source, silent, cancel));
  }
  Error refusal(const std::string& project, std::uint64_t bytes) {
    Zeros source(bytes);
    auto loaded = load(project, source);
    EXPECT_FALSE(loaded);
    return loaded ? Error(Errc::kInternal, "it was loaded") : std::move(loaded.error());
  }
  Result<KeptImage> pin(const std::string& project, const std::string& name, bool is_pinned) {
    const ImageService::Change change{.is_pinned = is_pinned};
    return packages::run_task(io, service().change(project, name, change));
  }

  asio::io_context io;
  store::TempDir directory;
  node::FakeSessionService sessions;
  packages::FakePackageService packages;
  packages::FakeLayers layers;
  ImageServiceOptions options;
  std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
  Silent silent;
  std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
  std::unique_ptr<ImageService> made;
};

TEST_F(ImageServiceTest, AProjectHasAFourthOfTheNumberOfImages) {
  options.most_images = 8;
  keep('a', "hostile");
  keep('b', "hostile");
  const Error refused = refusal("hostile", 100);
  EXPECT_EQ(refused.code(), Errc::kResourceExhausted);
  EXPECT_EQ(refused.sys_errno(), ENOSPC);
  EXPECT_THAT(refused.message(), HasSubstr("2 images"));
  // Another one gets as far as its archive, which is none.
  EXPECT_EQ(refusal("victim", 100).code(), Errc::kInvalidArgument);
}

TEST_F(ImageServiceTest, AnArchiveTakesAtMostHalfOfTheRoomForArchives) {
  // 8 MB for all that arrive.
  const Error refused = refusal("hostile", 5 * kMegabyte);
  EXPECT_EQ(refused.code(), Errc::kResourceExhausted);
  EXPECT_EQ(refused.sys_errno(), ENOSPC);
  EXPECT_EQ(refusal("hostile", 4 * kMegabyte).code(), Errc::kInvalidArgument);
}

TEST_F(ImageServiceTest, WhileOneArchiveArrivesAnotherGetsHalfOfTheRest) {
  asio::steady_timer held(io, asio::steady_timer::time_point::max());
  Zeros hostile(4 * kMegabyte);
  hostile.held = &held;
  std::optional<Result<LoadedImage>> loaded;
  LoadRequest wanted{.project = "hostile", .name = "x:latest", .is_tree = false};
  asio::co_spawn(
      io, service().load(std::move(wanted), hostile, silent, cancel),
      [&loaded](std::exception_ptr, Result<LoadedImage> done) { loaded.emplace(std::move(done)); });
  const auto run_until = [this](const auto& holds) {
    while (!holds()) {
      io.restart();
      ASSERT_GT(io.run_one_for(std::chrono::seconds(10)), 0u);
    }
  };
  run_until([&] { return hostile.is_waiting; });
  EXPECT_EQ(refusal("victim", 3 * kMegabyte).sys_errno(), ENOSPC);
  EXPECT_EQ(refusal("victim", 2 * kMegabyte).code(), Errc::kInvalidArgument);
  held.cancel();
  run_until([&] { return loaded.has_value(); });
  EXPECT_EQ(loaded->error().code(), Errc::kInvalidArgument);
  // And it has given back what it had.
  EXPECT_EQ(refusal("victim", 3 * kMegabyte).code(), Errc::kInvalidArgument);
}

TEST_F(ImageServiceTest, AProjectsArchiveIsNotLargerThanItsImageMayBe) {
  options.disk_ceiling = 4'000 * kMegabyte;
  keep('a', "hostile", 999 * kMegabyte);
  const Error refused = refusal("hostile", 80 * kMegabyte);
  EXPECT_EQ(refused.sys_errno(), EFBIG);
  EXPECT_THAT(refused.message(), HasSubstr("65 MB"));
  EXPECT_EQ(refusal("victim", 80 * kMegabyte).code(), Errc::kInvalidArgument);
}

TEST_F(ImageServiceTest, ChangesOfAProjectAreBoundedInTime) {
  options.most_changes_in_a_minute = 4;
  keep('a', "hostile");
  keep('b', "victim");
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(pin("hostile", "a", i % 2 == 0));
  const auto refused = pin("hostile", "a", true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kResourceExhausted);
  EXPECT_EQ(layers.noted, 4);
  EXPECT_EQ(refusal("hostile", 100).code(), Errc::kResourceExhausted) << "a load changes names";
  // What changes nothing is not written, and others are not concerned.
  EXPECT_TRUE(pin("hostile", "a", false));
  EXPECT_TRUE(pin("victim", "b", true));
  EXPECT_EQ(layers.noted, 5);
  now += std::chrono::seconds(60);
  EXPECT_TRUE(pin("hostile", "a", true));
}

}  // namespace
}  // namespace glovebox::images
