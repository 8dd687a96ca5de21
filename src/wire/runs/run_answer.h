// The answer of POST /v1/run, whole or as live events. Everything in it that a guest wrote (output,
// results, files) is treated as hostile: checked, bounded, and made UTF-8.
#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/outcome.h"
#include "wire/network/network_json.h"

namespace glovebox::wire {

struct AnswerFile {
  std::string path;
  std::string content;
};

// Packages that a run had.
struct PreparedPackageSet {
  std::string layer;   // its id
  bool built = false;  // for this run, or for another at the same time
  std::chrono::milliseconds waited{0};
  std::string cold_because;  // why no interpreter waited with them; empty: one did
};

struct RunAnswer {
  std::string id;
  std::string request_id;
  Outcome outcome;                   // with its output, as far as it was kept
  std::vector<std::string> results;  // the runtime's lines, unparsed
  std::vector<AnswerFile> files;
  std::string files_error;  // why some were not fetched, or empty
  std::string profile;      // its hash
  std::string template_name;
  bool warm = false;
  std::optional<std::uint32_t> reused{};  // by so many runs before; nothing: it was used once
  bool cancelled = false;
  std::chrono::microseconds queued{0};
  std::optional<NetworkFigures> network;         // nothing: it had none
  std::optional<PreparedPackageSet> packages{};  // nothing: none were asked for
};

// One JSON object without stdout and stderr: what ends a stream of events, whose reader had them.
std::string run_exit_json(const RunAnswer& answer);
// The same without `result`, `results` and `error`: what is known whatever the code says of itself.
std::string run_frame_json(const RunAnswer& answer);
// Either with the output: `exit_json` is what was made of it.
std::string run_answer_json(std::string_view exit_json, const Outcome& outcome);

// {"engine","grade","walls","missing"}: the last are those that a whole jail has and this has not.
boost::json::object isolation_json(EngineKind engine, const WallSet& walls);

// A line of the runtime's as the `data` of a live event. `event` is "result" or "error"; empty
// when the line is nothing of the kind, and then there is no event.
struct ResultEvent {
  std::string_view event;
  std::string data;
};
ResultEvent result_event(std::string_view line);

// {"text": ...} or, when it is not UTF-8, {"base64": ...}.
std::string output_event_json(std::string_view bytes);

// The error form of every route: {"error":{"code","message"},"request_id"}.
std::string error_json(std::string_view code, std::string_view message,
                       std::string_view request_id);

// Output arrives in pieces that may end within a character. Gives what is whole, keeps the rest
// for the next piece.
class Utf8Chunker {
 public:
  // A view of `piece` or of memory of this object, good until the next call.
  std::string_view add(std::string_view piece);
  std::string_view rest() const { return kept_; }

 private:
  std::string kept_;
  std::string joined_;
};

}  // namespace glovebox::wire
