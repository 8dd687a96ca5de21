// The console's files, which scripts/build-console makes and the build packs into the program, and
// what must be known to serve them.
#pragma once

#include <span>
#include <string_view>

namespace glovebox::api {

struct ConsoleAsset {
  std::string_view path;  // below /console/: "index.html", "assets/app-3f2a.js"
  std::string_view type;
  std::string_view etag;  // quoted
  bool is_gzipped = false;
  std::string_view bytes;
};

struct ConsoleBundle {
  std::span<const ConsoleAsset> assets;
  std::string_view reason;  // why there are none; empty: they are there

  // Null: there is none of this path.
  const ConsoleAsset* find(std::string_view path) const;
};

// This program's.
ConsoleBundle console_bundle();
// The page in which the console shows HTML that guests wrote.
std::string_view console_frame_page();

}  // namespace glovebox::api
