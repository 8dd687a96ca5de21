// Reads the kernel's small text files. A file that is absent, masked or unreadable is an empty
// optional: on an unknown host, any of them may be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::probe {

// At most 1 MiB; nullopt when it cannot be opened or read.
std::optional<std::string> read_text(const std::string& path);

// The whole text is one decimal number, with white space round it at most.
std::optional<std::int64_t> parse_number(std::string_view text);
std::optional<std::int64_t> read_number(const std::string& path);

// Writes in one call, as the kernel's control files want it; 0 or the errno.
int write_text(const std::string& path, std::string_view text);

std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// On runs of spaces, tabs and newlines; never yields an empty word.
std::vector<std::string_view> words(std::string_view text);

}  // namespace glovebox::probe
