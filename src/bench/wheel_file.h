// A minimal Python wheel, created in memory for the benchmark's package index.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::bench {

struct Wheel {
  std::string file;    // "gbx_bench_7-1.0-py3-none-any.whl"
  std::string bytes;   // a zip archive without compression
  std::string sha256;  // hexadecimal
};

// A wheel of the package `name` (lower case, digits, '_') with one module of this source.
Wheel make_wheel(const std::string& name, std::string_view source);

}  // namespace glovebox::bench
