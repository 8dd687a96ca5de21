#include "client/requests/key_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

TEST(KeyWords, WhatWasNotSaidIsLeftToTheServer) {
  EXPECT_EQ(new_key_json({}).value(), R"({"role":"user"})");
}

TEST(KeyWords, EveryWordHasItsField) {
  NewKeyWords words;
  words.project = "ci";
  words.name = "night \"ly\"";
  words.admin = true;
  words.max_in_flight = "8";
  words.runs_per_minute = "600";
  words.max_memory = "4G";
  EXPECT_EQ(new_key_json(words).value(),
            R"({"project":"ci","name":"night \"ly\"","role":"admin","limits":)"
            R"({"max_in_flight":8,"runs_per_minute":600,"max_memory_mb":4096}})");
}

TEST(KeyWords, E2bsFormIsTheSameSecret) {
  EXPECT_EQ(e2b_form("gbx_0123"), "e2b_0123");
  EXPECT_EQ(e2b_form("e2b_0123"), "e2b_0123");
  EXPECT_EQ(e2b_form(""), "");
}

TEST(KeyWords, MistakesNameTheirOption) {
  const auto refusal = [](NewKeyWords words) {
    const auto body = new_key_json(words);
    return body ? *body : body.error().message();
  };
  NewKeyWords words;
  words.max_memory = "much";
  EXPECT_THAT(refusal(words), HasSubstr("--max-memory"));
  words.max_memory = "100";
  EXPECT_THAT(refusal(words), HasSubstr("at least 1M"));
  words.max_memory = "";
  words.max_in_flight = "-3";
  EXPECT_THAT(refusal(words), HasSubstr("--max-in-flight"));
}

}  // namespace
}  // namespace glovebox::client
