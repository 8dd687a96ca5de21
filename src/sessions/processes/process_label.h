// What the server stores with a process in its sandbox, so that a restarted server knows which
// processes it started: a small JSON object that the agent stores without reading it. It comes back
// from the sandbox, so its content is not trusted; only its format is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::sessions {

struct ProcessLabel {
  std::string cmd;  // for display; truncated when it is long
  std::string user;
  std::string cwd;
  std::int64_t created_ms = 0;
  // For a process that a dialect started: cmd is only the program, and these are its arguments and
  // environment. Long values and long lists are truncated; a tag never is.
  std::vector<std::string> args{};
  std::vector<std::string> envs{};  // "NAME=value"
  std::string tag{};
  std::int64_t deadline_ms = 0;  // wall clock time at which it is killed; 0: never
  // For a context only: a name that outlives its interpreter, and its language.
  std::string context;
  std::string language;
  bool operator==(const ProcessLabel&) const = default;
};

inline constexpr std::size_t kMaxTag = 256;

// The program and its arguments, for display.
std::string shown_command(const ProcessLabel& label);
// Never longer than wire::kMaxLabel.
std::string encode_label(const ProcessLabel& label);
// Returns an empty label when the text is not one of ours.
ProcessLabel decode_label(std::string_view text);

}  // namespace glovebox::sessions
