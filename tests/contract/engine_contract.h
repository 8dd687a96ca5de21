// The fixture of every contract test: one engine of the catalog, by name.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "contract_run.h"

namespace glovebox::contract {

class EngineContract : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { use_built_programs(); }
  void SetUp() override {
    auto made = engine::make_engine(GetParam());
    ASSERT_TRUE(made) << made.error().message();
    engine_ = std::move(*made);
  }
  engine::Engine& engine() { return *engine_; }
  Collected run(const engine::RunRequest& request, const Feed& feed = {}) {
    return contract::run(*engine_, request, feed);
  }
  // What the engine says of itself here; a test of something it lacks skips.
  engine::Features features() {
    auto probed = engine_->probe();
    EXPECT_TRUE(probed) << probed.error().message();
    return probed ? *probed : engine::Features{};
  }

 private:
  std::unique_ptr<engine::Engine> engine_;
};

inline std::vector<std::string> every_engine() {
  std::vector<std::string> names;
  for (const std::string_view name : engine::engine_names()) names.emplace_back(name);
  return names;
}
inline std::string engine_of(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace glovebox::contract
