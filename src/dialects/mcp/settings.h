// What the administrator sets for /mcp (mcp.* in the server's configuration): what a conversation's
// sandbox is made of and how long it lives. A model can ask for a shorter time for a call, and for
// nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace glovebox::mcp {

struct Settings {
  std::string template_name{};                 // empty: python-data where it works, else python
  std::uint64_t ttl_s = 3600;                  // of a sandbox, from the last call
  std::chrono::milliseconds timeout{120'000};  // of a call, and the most it may ask for
  std::chrono::seconds idle{86'400};           // a conversation without requests is forgotten
  std::uint64_t conversations = 64;            // of one project
  std::uint64_t max_output = 64 * 1024;        // text of one result, or of one piece of a file
  std::optional<std::uint32_t> cpu_thousandths{};
  std::optional<std::uint64_t> memory_bytes{};
  std::optional<std::uint64_t> disk_bytes{};
};

// What a call can take at most. Beyond its own time the sandbox may have to be created, and other
// calls may be before it.
inline std::chrono::milliseconds longest_call(const Settings& settings) {
  return 2 * settings.timeout + std::chrono::seconds(30);
}

}  // namespace glovebox::mcp
