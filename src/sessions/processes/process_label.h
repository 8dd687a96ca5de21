// What the server keeps with a process in its sandbox, so that a server after it knows what it
// started: a small JSON object that the agent stores unread. It comes back from the sandbox, so
// nothing in it is believed beyond its form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::sessions {

struct ProcessLabel {
  std::string cmd;  // as people would write it; cut when it is long
  std::string user;
  std::string cwd;
  std::int64_t created_ms = 0;
  // Of one that a dialect started: cmd is the program alone, and these are what it was given. Cut,
  // each and in number, when they are long; a tag never is.
  std::vector<std::string> args{};
  std::vector<std::string> envs{};  // "NAME=value"
  std::string tag{};
  std::int64_t deadline_ms = 0;  // by the wall clock: it is killed then; 0: never
  // Of a context only: a name that outlives its interpreter, and what it speaks.
  std::string context;
  std::string language;
  bool operator==(const ProcessLabel&) const = default;
};

inline constexpr std::size_t kMaxTag = 256;

// The program and its arguments, for people.
std::string shown_command(const ProcessLabel& label);
// Never longer than wire::kMaxLabel.
std::string encode_label(const ProcessLabel& label);
// Of what is no label of ours: an empty one.
ProcessLabel decode_label(std::string_view text);

}  // namespace glovebox::sessions
