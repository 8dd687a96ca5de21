// The answer of POST …/code: the fields of a run's answer, and those of the context.
// Everything that a guest wrote is treated as hostile: checked, bounded, converted to UTF-8.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "sessions/contexts/context_table.h"

namespace glovebox::sessions {

struct CellAnswer {
  std::string request_id;
  std::string context;
  std::string language;
};

// Without stdout and stderr, which wire::run_answer_json() puts in front.
std::string cell_exit_json(const CellAnswer& about, const CellReport& report);

// {code, name, message, traceback, line}, or null if the cell succeeded. `exception` is the one
// that the code reported (wire::SortedResults).
boost::json::value cell_error(const CellReport& report, boost::json::object exception);

// The result of a cell as plain JSON instead of a set of MIME types, for dialects.
struct CellValue {
  boost::json::value result;  // of the last expression; as text if JSON cannot express it
  boost::json::value error;   // as above
};
CellValue cell_value(const CellReport& report);

}  // namespace glovebox::sessions
