// What a context's runtime writes on its results: its own words (wire/guest/cell.h) and, between them,
// results, whose number and size are bounded as a run's are. The words come through whatever else
// was written before them, so that a cell with too many results still ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "node/runs/result_lines.h"
#include "wire/guest/cell.h"

namespace glovebox::sessions {

class ContextOutput {
 public:
  struct Line {
    std::string result;        // not empty: a result, unparsed
    wire::ContextEvent word{};  // else this
  };
  std::vector<Line> add(std::string_view bytes);
  bool truncated() const { return results_.truncated(); }

 private:
  static constexpr std::size_t kMaxWord = 200;
  // Whoever writes more words than this in one cell only wants to be parsed.
  static constexpr std::size_t kMaxWords = 20'000;

  void end_line(std::vector<Line>& lines);
  void give(std::string_view part, std::vector<Line>& lines);

  std::string head_;      // of the current line, while it may be a word
  bool is_long_ = false;  // it is none; what there was of it has been given on
  std::size_t words_ = 0;
  node::ResultLines results_;
};

}  // namespace glovebox::sessions
