#include "cli/print.h"

#include <cstdio>

#include "base/utf8.h"
#include "model/outcome.h"

namespace glovebox::cli {

int usage_error(const std::string& message) {
  std::fprintf(stderr, "glovebox: %s\n", printable(message).c_str());
  return kExitUsage;
}

int failure(const Error& error) {
  std::fprintf(stderr, "glovebox: %s\n", printable(error.message()).c_str());
  return kExitGloveboxFailed;
}

}  // namespace glovebox::cli
