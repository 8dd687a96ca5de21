// The body of POST /v1/run, parsed and checked by itself. Which template it selects, and what the
// template adds, is decided by the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/guest_path.h"
#include "base/result.h"
#include "model/profile.h"
#include "model/wall.h"

namespace glovebox::wire {

struct RequestFile {
  GuestPath path;
  std::string content;
  std::uint32_t mode = 0644;
  bool operator==(const RequestFile&) const = default;
};

struct RunRequest {
  std::string language;       // "python", "javascript", "shell", or empty
  std::string template_name;  // or empty; at least one of the two goes with `code`
  // Exactly one of the two; with an image perhaps neither: its own program.
  std::optional<std::string> code;
  std::vector<std::string> command;
  std::vector<std::string> args;  // with `code`
  std::string stdin_bytes;
  std::string bundle;  // the SHA-256 of one that was sent before, or empty
  std::vector<RequestFile> files;
  std::vector<std::string> return_files;  // absolute patterns
  std::vector<std::string> env;           // "NAME=value", no name twice
  std::string workdir = "/home/user";
  bool has_workdir = false;  // the request says it
  bool cold = false;
  ProfileRequest profile;
  std::optional<Grade> min_grade;
  std::optional<EngineKind> engine{};  // none: the server's default
  bool operator==(const RunRequest&) const = default;
};

inline constexpr std::size_t kMaxRequestFiles = 256;
inline constexpr std::size_t kMaxReturnPatterns = 64;

// kInvalidArgument with the path of the field that is wrong. `body` is as long as the server lets
// it be; what is made of it is at most a few times that.
Result<RunRequest> parse_run_request(std::string_view body);

// ---- parts of it, for requests that have the same fields

class ObjectReader;
// All of a run but `args` and `stdin`.
Result<> read_run_fields(ObjectReader& fields, RunRequest& request);
// stdin, or stdin_base64.
Result<std::string> read_stdin(ObjectReader& fields);
// After all of them: what can be combined with what, and how much it may be.
Result<> check_run(const ObjectReader& fields, const RunRequest& request);
Result<> read_language_and_template(ObjectReader& fields, RunRequest& request);
// files, return_files, env, workdir, cold, min_grade, engine, profile.
Result<> read_run_settings(ObjectReader& fields, RunRequest& request);
Result<> check_sizes(const ObjectReader& fields, const RunRequest& request);

}  // namespace glovebox::wire
