// A TOML file as (key, text, line), before its values are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::config {

struct FileEntry {
  std::string key;  // "server.listen"
  std::string text;
  std::uint32_t line = 0;
};

// `name` is the file's, for messages. Every key of a known name has a value of its type, as text.
Result<std::vector<FileEntry>> parse_file(const std::string& text, const std::string& name);

enum class Missing : std::uint8_t { kIsEmpty, kIsAnError };
enum class Trust : std::uint8_t { kAnyOwner, kOnlyRoot };
// kOnlyRoot: refuses a file that other users than root can write.
Result<std::string> read_text_file(const std::string& path, Missing missing, Trust trust);

// `uids.first` of the launcher's policy, if there is such a file and it says so. The launcher
// itself checks the file and refuses to start with a bad one, so nothing else of it is looked at
// here.
std::optional<std::uint64_t> first_uid_of_policy(const std::string& path);

}  // namespace glovebox::config
