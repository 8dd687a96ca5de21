// A Python package as small as one can be, made on the spot: what the benchmark's own index serves.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::bench {

struct Wheel {
  std::string file;    // "gbx_bench_7-1.0-py3-none-any.whl"
  std::string bytes;   // a zip archive, nothing in it compressed
  std::string sha256;  // hexadecimal
};

// Of a package that is called so (small letters, digits, '_') and has one module with this source.
Wheel make_wheel(const std::string& name, std::string_view source);

}  // namespace glovebox::bench
