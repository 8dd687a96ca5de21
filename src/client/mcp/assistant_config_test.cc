#include "client/mcp/assistant_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

AssistantConnection facts() {
  return {.program = "/opt/a b/glovebox",
          .args = {"mcp"},
          .needs_key = false,
          .url = "http://127.0.0.1:7070/mcp"};
}

TEST(AssistantConfig, EveryBlockIsJsonAndNamesTheProgram) {
  const boost::json::object all = boost::json::parse(assistant_config_json(facts())).as_object();
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(all.at("claude-desktop").at("stdio").at("mcpServers").at("glovebox").at("command"),
            "/opt/a b/glovebox");
  EXPECT_EQ(all.at("vscode").at("http").at("servers").at("glovebox").at("url"),
            "http://127.0.0.1:7070/mcp");
  EXPECT_FALSE(all.at("claude-desktop").as_object().contains("http"));
}

TEST(AssistantConfig, AnAssistantIsAskedForByName) {
  const std::string text = assistant_config_text(facts(), "cursor").value();
  EXPECT_THAT(text, HasSubstr("\"command\": \"/opt/a b/glovebox\""));
  EXPECT_THAT(text, Not(HasSubstr("claude")));
  const auto unknown = assistant_config_text(facts(), "emacs");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("claude-desktop"));
}

TEST(AssistantConfig, ShellLinesAreQuotedAndAKeyIsAPlaceholder) {
  AssistantConnection named = facts();
  named.needs_key = true;
  const std::string text = assistant_config_text(named, "claude-code").value();
  EXPECT_THAT(text, HasSubstr("claude mcp add glovebox --env GLOVEBOX_API_KEY=YOUR_KEY -- "
                              "'/opt/a b/glovebox' mcp"));
}

}  // namespace
}  // namespace glovebox::client
