#include "api/console/asset_bundle.h"

#include <algorithm>
#include <cstddef>

namespace glovebox::api {
namespace {

// console_assets[], console_asset_count, console_reason and console_frame, made by pack.py.
#include "console_bundle.inc"

}  // namespace

const ConsoleAsset* ConsoleBundle::find(std::string_view path) const {
  const auto found = std::find_if(assets.begin(), assets.end(),
                                  [path](const ConsoleAsset& one) { return one.path == path; });
  return found == assets.end() ? nullptr : &*found;
}

ConsoleBundle console_bundle() {
  return {.assets = std::span(console_assets).first(console_asset_count), .reason = console_reason};
}

std::string_view console_frame_page() { return console_frame; }

}  // namespace glovebox::api
