// The figures of a run: a table for people, an array of objects for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/process.h"

namespace glovebox::bench::cold {

struct Row {
  std::string name;
  std::string baseline;
  std::string skipped;
  std::vector<Milliseconds> times;  // of the runs that succeeded
  unsigned errors = 0;
};

double percentile_ms(const Row& row, double fraction);
// The row's p50 over its baseline's, or 0 where one of the two is missing.
double ratio(const std::vector<Row>& rows, const Row& row);
const Row* find_row(const std::vector<Row>& rows, const std::string& name);

void print_table(const std::vector<Row>& rows);
void print_json(const std::vector<Row>& rows);

}  // namespace glovebox::bench::cold
