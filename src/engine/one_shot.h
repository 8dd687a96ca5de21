// A run: a sandbox that was never used before, files in, one program with live streams, files out,
// and the sandbox gone. Used by the command line and by the tests of every engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "model/outcome.h"
#include "model/sandbox_spec.h"

namespace glovebox::engine {

enum class Stream { kOut, kErr };

inline constexpr std::size_t kMaxResultBytes = std::size_t{9} << 20;

struct RunRequest {
  SandboxSpec sandbox;
  ExecSpec exec;
  std::vector<FileIn> files_in;
  std::vector<FileOut> files_out;
  std::optional<Grade> min_grade;
  // What is printed past this is dropped and said; none: no limit.
  std::optional<std::uint64_t> output_limit;
  // An encoded job (wire/guest/job.h): `exec` is then a runtime of ours, which reads it. Else
  // empty.
  std::string runtime_job;
  // Whether it has a network: then RunHooks::on_network passes it on.
  bool has_network = false;
  // Walls that the request itself brings along.
  WallSet extra_walls;
};

struct RunHooks {
  // Borrowed; -1: the program's stdin is empty.
  int stdin_fd = -1;
  // Called with each piece of output, within the limit. False ends the run (the reader is gone).
  std::function<bool(Stream, std::string_view)> on_output;
  // Called with each piece of input before it goes in. False ends the run (an escape was typed).
  std::function<bool(std::string_view)> on_input;
  // Called once, before or while the program runs, with the sockets of the sandbox's network. An
  // error ends the run: until they are answered, whatever it connects to waits.
  std::function<Result<>(Instance::Lent)> on_network;
  // Borrowed; readable when the caller wants to stop. -1: never.
  int stop_fd = -1;
  // Borrowed; when it becomes readable, ask on_resize for the new size. -1: never.
  int resize_fd = -1;
  std::function<TerminalSize()> on_resize;
};

struct RunResult {
  Outcome outcome;
  // What a runtime wrote about its results: the guest's bytes, at most kMaxResultBytes of them.
  std::string results;
  bool stopped = false;              // by the caller
  std::optional<Error> out_failure;  // a file could not be copied out; the outcome stands
  // What the sandbox was made of goes behind the answer; destroying this waits until a private
  // launcher has seen to it and is gone.
  std::unique_ptr<Instance> ended_instance;
};

// A failure of Glovebox is an error; everything a program can do to itself is an outcome.
Result<RunResult> run_once(Engine& engine, const RunRequest& request, const RunHooks& hooks);

}  // namespace glovebox::engine
