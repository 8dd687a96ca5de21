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

// Checks `text` and stores it in the key's member. The error says what is expected; the caller adds
// the source of the value. Lists are separated by commas.
Result<> assign(Settings& settings, const Key& key, const std::string& text);

// What is accepted, for messages: "a duration like 10s, 500ms or 2m".
std::string expectation(const Key& key);

// Thousandths of a CPU: "2", "0.5". Nothing if it is not such a number or out of range.
std::optional<std::uint32_t> parse_cpu_quota(std::string_view text);

// 1 to 65535.
std::optional<std::uint16_t> parse_port(std::string_view text);

std::vector<std::string> split_list(std::string_view text);

}  // namespace glovebox::config
