#include "client/requests/key_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

TEST(KeyOptions, LeavesWhatWasNotGivenToTheServer) {
  EXPECT_EQ(new_key_json({}).value(), R"({"role":"user"})");
}

TEST(KeyOptions, EveryOptionHasItsField) {
  NewKeyOptions options;
  options.project = "ci";
  options.name = "night \"ly\"";
  options.admin = true;
  options.max_in_flight = "8";
  options.runs_per_minute = "600";
  options.max_memory = "4G";
  EXPECT_EQ(new_key_json(options).value(),
            R"({"project":"ci","name":"night \"ly\"","role":"admin","limits":)"
            R"({"max_in_flight":8,"runs_per_minute":600,"max_memory_mb":4096}})");
}

TEST(KeyOptions, TheE2bFormIsTheSameSecret) {
  EXPECT_EQ(e2b_form("gbx_0123"), "e2b_0123");
  EXPECT_EQ(e2b_form("e2b_0123"), "e2b_0123");
  EXPECT_EQ(e2b_form(""), "");
}

TEST(KeyOptions, MistakesNameTheirOption) {
  const auto refusal = [](NewKeyOptions options) {
    const auto body = new_key_json(options);
    return body ? *body : body.error().message();
  };
  NewKeyOptions options;
  options.max_memory = "much";
  EXPECT_THAT(refusal(options), HasSubstr("--max-memory"));
  options.max_memory = "100";
  EXPECT_THAT(refusal(options), HasSubstr("at least 1M"));
  options.max_memory = "";
  options.max_in_flight = "-3";
  EXPECT_THAT(refusal(options), HasSubstr("--max-in-flight"));
}

}  // namespace
}  // namespace glovebox::client
