// The answer of POST …/code: the shape of a run's, and what there is to say of the context.
// Everything in it that a guest wrote is treated as hostile: checked, bounded, made UTF-8.
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

// {code, name, message, traceback, line}, or null: it went well. `exception` is what the code said
// of itself (wire::SortedResults).
boost::json::value cell_error(const CellReport& report, boost::json::object exception);

// What a cell came to as plain JSON rather than as a set of MIME types: for dialects.
struct CellValue {
  boost::json::value result;  // of the last expression; its text where JSON cannot say it
  boost::json::value error;   // as above
};
CellValue cell_value(const CellReport& report);

}  // namespace glovebox::sessions
