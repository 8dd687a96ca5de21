// What the contract tests have in common: a run through an engine with its output collected, and a
// way to ask the host whether something of a sandbox is still there.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/catalog.h"
#include "engine/one_shot.h"

namespace glovebox::contract {

// Tells the engines where the programs under test are: $GLOVEBOX_BIN_DIR, else the build's own.
void use_built_programs();

// A directory of the test's own, gone with this object. Given to `owner` if that is not zero.
class TempDir {
 public:
  explicit TempDir(uid_t owner = 0);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view content, unsigned mode);
bool exists(const std::string& path);

// A word that no other process of this host has in its arguments.
std::string unique_word();
// Waits until no process has `word` in its arguments; false if one still has after ten seconds.
bool gone_from_host(const std::string& word);

struct Collected {
  Result<engine::RunResult> result = fail(Errc::kInternal, "not run");
  std::string out;
  std::string err;
  std::chrono::milliseconds took{0};

  bool ran() const { return result.has_value(); }
  const Outcome& outcome() const { return result->outcome; }
  // For messages of failed expectations.
  std::string story() const;
};

// A request that runs `sh -c script` with a minimal environment.
engine::RunRequest shell(const std::string& script);
engine::RunRequest program(std::vector<std::string> argv);

struct Feed {
  std::optional<std::string> input;  // none: the program's stdin is empty
  int stop_fd = -1;
  // Called besides collecting; false ends the run.
  std::function<bool(engine::Stream, std::string_view)> on_output;
};
Collected run(engine::Engine& engine, const engine::RunRequest& request, const Feed& feed = {});

}  // namespace glovebox::contract
