// The body of POST /v1/run/batch: one run, and the arguments and inputs with which it is done many
// times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/runs/run_request.h"

namespace glovebox::wire {

inline constexpr std::size_t kMaxBatchInputs = 10'000;
inline constexpr std::uint32_t kMaxBatchParallel = 64;

struct BatchInput {
  std::vector<std::string> args;
  std::string stdin_bytes;
  bool operator==(const BatchInput&) const = default;
};

struct BatchRequest {
  RunRequest run;  // without arguments and input
  std::vector<BatchInput> inputs;
  std::uint32_t parallel = 4;  // so many at a time, at most
};

// kInvalidArgument with the path of the field that is wrong.
Result<BatchRequest> parse_batch_request(std::string_view body);

}  // namespace glovebox::wire
