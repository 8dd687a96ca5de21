// Splits what a context's runtime writes to its results stream: control events (wire/guest/cell.h)
// and results, whose number and size are bounded like those of a run. Events always get through, so
// that a cell with too many results still ends.
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
    std::string result;          // not empty: a result, unparsed
    wire::ContextEvent event{};  // else this
  };
  std::vector<Line> add(std::string_view bytes);
  bool truncated() const { return results_.truncated(); }

 private:
  static constexpr std::size_t kMaxEventBytes = 200;
  // Further lines of a cell are not parsed as events: a hostile guest could make parsing expensive.
  static constexpr std::size_t kMaxEvents = 20'000;

  void end_line(std::vector<Line>& lines);
  void give(std::string_view part, std::vector<Line>& lines);

  std::string head_;      // of the current line, while it may be an event
  bool is_long_ = false;  // it is no event; its beginning has been passed on
  std::size_t events_ = 0;
  node::ResultLines results_;
};

}  // namespace glovebox::sessions
