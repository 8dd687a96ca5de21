// `glovebox layers`: its words as bodies of requests, and a layer's figures as people read them.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/dependency_words.h"

namespace glovebox::client {

struct LayerWords {
  wire::DependencyWords packages;
  std::string template_name;
  std::string project;
  std::string unused_for;
  bool dry_run = false;
};

// The body of POST /v1/layers.
Result<std::string> new_layer_json(const LayerWords& words);
// That of POST /v1/layers/prune. "7d", "12h", "90": seconds.
Result<std::string> prune_json(const LayerWords& words);

// "1.5M", "640".
std::string size_text(std::uint64_t bytes);
// "5s", "12m", "3h", "8d" since a time like "2026-11-16T05:20:22Z"; "-" when it is none.
std::string age_text(const std::string& time, std::int64_t now_seconds);
// "numpy 2.1.0, pandas 2.2.3 and 4 more".
std::string packages_text(const boost::json::object& layer, std::size_t most);

}  // namespace glovebox::client
