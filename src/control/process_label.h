// What the server keeps with a process in its sandbox, so that a server after it knows what it
// started: a small JSON object that the agent stores unread. It comes back from the sandbox, so
// nothing in it is believed beyond its form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glovebox::control {

struct ProcessLabel {
  std::string cmd;  // as people would write it; cut when it is long
  std::string user;
  std::string cwd;
  std::int64_t created_ms = 0;
  // Of a context only: a name that outlives its interpreter, and what it speaks.
  std::string context;
  std::string language;
  bool operator==(const ProcessLabel&) const = default;
};

// Never longer than wire::kMaxLabel.
std::string encode_label(const ProcessLabel& label);
// Of what is no label of ours: an empty one.
ProcessLabel decode_label(std::string_view text);

}  // namespace glovebox::control
