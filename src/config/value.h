// One setting's value: from text or from TOML's own types into its member of Settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/keys.h"

namespace glovebox::config {

// Checks `text` and puts it into the key's member. The error says what is expected; whose value it
// was is the caller's to add. Lists are separated by commas.
Result<> assign(Settings& settings, const Key& key, const std::string& text);

// What may stand there, for messages: "a duration like 10s, 500ms or 2m".
std::string expectation(const Key& key);

// Thousandths of a CPU: "2", "0.5". Nothing when it is no such number, or out of all bounds.
std::optional<std::uint32_t> parse_cpu_quota(std::string_view text);

// 1 to 65535.
std::optional<std::uint16_t> parse_port(std::string_view text);

std::vector<std::string> split_list(std::string_view text);

}  // namespace glovebox::config
