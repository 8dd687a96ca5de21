// One line that a runtime wrote about its code: a value that was shown, or the exception that
// ended it. Guest code can write such lines, too: nothing in them is trusted beyond its form.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::wire {

// A figure and a table as data: a runtime writes them for a cell that asks for rich results
// (wire/guest/cell.h).
inline constexpr std::string_view kChartMime = "application/vnd.glovebox.chart+json";
inline constexpr std::string_view kTableMime = "application/vnd.glovebox.table+json";

struct GuestResult {
  bool is_error = false;
  bool main = false;  // the value of the last expression
  // A result: MIME types and what they hold; an error: name, message, traceback, line.
  boost::json::object content;
};

// Nothing when the line is not one of the two, or not as it should be.
std::optional<GuestResult> parse_guest_result(std::string_view line);

// All lines of one piece of code, by what they are; of several of a kind that has room for one, the
// last.
struct SortedResults {
  boost::json::value main = nullptr;
  boost::json::array shown;
  boost::json::object exception;
};
SortedResults sort_results(const std::vector<std::string>& lines);

}  // namespace glovebox::wire
