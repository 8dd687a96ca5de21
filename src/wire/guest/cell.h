// A cell for a code context, as the runtimes of src/guest read it from their descriptor 4: a
// little-endian 32-bit length, and that many bytes:
//
//   number: 64 bits  flags: 8 bits  name: text  stdin: text  code: text  [env: count, texts]
//
// where a text is a 32-bit length and that many bytes, and a count has 32 bits. Flags: 1, stdin was
// given; 2, there is an environment for this one cell; 4, rich (see there). What the cell prints
// goes to descriptors 1 and 2. On descriptor 3 the runtime writes JSON objects, one per line:
// {"type":"ready"} once, when it has started; the same "result" and "error" lines as a run's
// (wire/guest/guest_result.h); and last {"type":"end","cell":NUMBER,"exit_code":N}, when all that
// the cell printed has been written. A runtime that ends has ended its context:
// {"type":"exit","code":N} when the code exited by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace glovebox::wire {

inline constexpr std::size_t kMaxCellBytes = 16 * 1024 * 1024;

struct Cell {
  std::uint64_t number = 0;
  std::string name;  // what tracebacks call it
  std::string code;
  std::optional<std::string> stdin_text{};  // none: input() is an error that says so
  std::vector<std::string> env{};           // "NAME=value", put back afterwards
  // For clients that draw figures and tables themselves: those are also sent as data, values not as
  // JSON, and an error is not also printed.
  bool rich = false;
  bool operator==(const Cell&) const = default;
};

std::string encode_cell(const Cell& cell);         // with its length in front
Result<Cell> decode_cell(std::string_view bytes);  // without; for tests and fuzzing
// Any record of descriptor 4: the first one is a job (wire/guest/job.h).
std::string with_length(std::string_view bytes);

// What a runtime reports between its results; any other line is a result or ignored. Guest code can
// write such lines, too, and then affects only its own context.
struct ContextReady {};
struct CellEnd {
  std::uint64_t number = 0;
  int exit_code = 0;
};
struct ContextExit {
  int exit_code = 0;
};
using ContextEvent = std::variant<std::monostate, ContextReady, CellEnd, ContextExit>;
ContextEvent parse_context_event(std::string_view line);

}  // namespace glovebox::wire
