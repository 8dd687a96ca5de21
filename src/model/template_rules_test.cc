#include "model/template_rules.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TemplateDefinition good() {
  return {.id = make_dynamic_template_id(),
          .from = "python",
          .preload = {"json.tool", "_private", "os.path"},
          .env = {"A=b=c", "EMPTY="},
          .limits = {}};
}

std::string why(const TemplateDefinition& definition) {
  const Result<> checked = check_definition(definition);
  if (checked) return "";
  EXPECT_EQ(checked.error().code(), Errc::kInvalidArgument);
  return checked.error().message().substr(0, checked.error().message().find(':'));
}

TEST(TemplateRules, Names) {
  for (const char* name : {"a", "python-data", "x0-"}) EXPECT_TRUE(is_template_name(name)) << name;
  for (const std::string name : {"", "0a", "-a", "A", "a_b", "a.b", "a/b", "a b"}) {
    EXPECT_FALSE(is_template_name(name)) << name;
  }
  EXPECT_TRUE(is_template_name(std::string(32, 'a')));
  EXPECT_FALSE(is_template_name(std::string(33, 'a')));
  for (const char* name : {"numpy", "os.path", "_x.Y9"}) EXPECT_TRUE(is_module_name(name)) << name;
  for (const std::string name :
       {"", ".", "a.", ".a", "a..b", "a-b", "../a", "/etc/x", "9a", "-c"}) {
    EXPECT_FALSE(is_module_name(name)) << name;
  }
}

TEST(TemplateRules, NoIdIsAName) {
  const std::string id = make_dynamic_template_id();
  EXPECT_TRUE(is_dynamic_template_id(id));
  EXPECT_FALSE(is_template_name(id));
  EXPECT_NE(id, make_dynamic_template_id());
  for (const std::string text :
       {"", "own.", "python", "own.0123456789abcdefghi", "own.0123456789abcdefghijk",
        "own.0123456789abcdefghi/", "own.0123456789ABCDEFGHIJ", "OWN.0123456789abcdefghij"}) {
    EXPECT_FALSE(is_dynamic_template_id(text)) << text;
  }
}

TEST(TemplateRules, AGoodDefinition) { EXPECT_EQ(why(good()), ""); }

TEST(TemplateRules, WhatADefinitionMayNotSay) {
  const auto with = [](auto change) {
    TemplateDefinition definition = good();
    change(definition);
    return why(definition);
  };
  EXPECT_EQ(with([](auto& one) { one.id = "python"; }), "id");
  EXPECT_EQ(with([](auto& one) { one.from = "own.0123456789abcdefghij"; }), "from");
  EXPECT_EQ(with([](auto& one) { one.from = "../python"; }), "from");
  EXPECT_EQ(with([](auto& one) { one.preload = {"/opt/x.py"}; }), "preload");
  EXPECT_EQ(with([](auto& one) { one.preload = {"a", "a"}; }), "preload");
  EXPECT_EQ(with([](auto& one) { one.preload = {std::string("a\0b", 3)}; }), "preload");
  EXPECT_EQ(with([](auto& one) { one.preload = {std::string(201, 'a')}; }), "preload");
  EXPECT_EQ(with([](auto& one) {
              one.preload.clear();
              for (int i = 0; i < 65; ++i) one.preload.push_back("m" + std::to_string(i));
            }),
            "preload");
  EXPECT_EQ(with([](auto& one) {
              one.preload.clear();
              for (int i = 0; i < 60; ++i) {
                one.preload.push_back(std::string(110, 'm') + std::to_string(i));
              }
            }),
            "preload");
  EXPECT_EQ(with([](auto& one) { one.env = {"no value"}; }), "env");
  EXPECT_EQ(with([](auto& one) { one.env = {"A B=c"}; }), "env");
  EXPECT_EQ(with([](auto& one) { one.env = {"=c"}; }), "env");
  EXPECT_EQ(with([](auto& one) { one.env = {"A=1", "A=2"}; }), "env");
  EXPECT_EQ(with([](auto& one) { one.env = {std::string("A=b\0c", 5)}; }), "env.A");
  EXPECT_EQ(with([](auto& one) { one.env = {"A=" + std::string(600, 'x')}; }), "env.A");
  EXPECT_EQ(with([](auto& one) { one.env = {"LD_PRELOAD=/tmp/x.so"}; }), "env.LD_PRELOAD");
  EXPECT_EQ(with([](auto& one) { one.env = {"GLIBC_TUNABLES=x"}; }), "env.GLIBC_TUNABLES");
  EXPECT_EQ(with([](auto& one) {
              one.env.clear();
              for (int i = 0; i < 20; ++i) {
                one.env.push_back("V" + std::to_string(i) + "=" + std::string(500, 'x'));
              }
            }),
            "env");
  EXPECT_EQ(with([](auto& one) {
              one.env.clear();
              for (int i = 0; i < 65; ++i) one.env.push_back("V" + std::to_string(i) + "=");
            }),
            "env");
}

}  // namespace
}  // namespace glovebox
