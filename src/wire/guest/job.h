// A job for a runtime: code and its environment, as src/guest/python and src/guest/node read them.
// The agent passes it on unread.
//
//   "GBXJOB1\n"  env: texts  args: texts  workdir: text  name: text  code: text
//
// where a text is a little-endian 32-bit length and that many bytes, and texts are a 32-bit count
// and that many of them. A runtime finds its descriptors so: 0, 1, 2 the streams, 3 its results (a
// pipe, JSON objects one per line), 4 the job (read from offset 0 to its end), and, if it was
// started ahead, 5 a socket on which it writes one byte when it is ready and then waits for one.
//
// A job named kSharedRunJob or kSharedFunctionJob is one whose interpreter serves many calls. What
// they share is in the job; each of them is a record on the standard input, whose end is the last
// one's:
//
//   size: u32, of what follows  args: texts  input: text
//
// where the input is what a program reads as its standard input, or what is one invocation's of a
// function (wire/functions/function_call.h). Each call ends with the line of results that says how
// it exited.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::wire {

struct Job {
  std::vector<std::string> env;   // "NAME=value": all there is
  std::vector<std::string> args;  // after the program's own name
  std::string workdir = "/home/user";
  std::string name;  // what tracebacks call the code: "main.py"
  std::string code;
  bool operator==(const Job&) const = default;
};

inline constexpr std::string_view kSharedRunJob = "glovebox:calls";
inline constexpr std::string_view kSharedFunctionJob = "glovebox:function-calls";

std::string encode_job(const Job& job);
// A record.
std::string encode_shared_call(const std::vector<std::string>& args, std::string_view input);
Result<Job> decode_job(std::string_view bytes);  // for tests and fuzzing

}  // namespace glovebox::wire
