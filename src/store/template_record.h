// The record of a template that was made over HTTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/dependencies.h"
#include "model/template.h"

namespace glovebox::store {

struct TemplateRecord {
  std::string project{};
  std::string name{};  // what the project calls it
  std::string description{};
  std::string key_id{};  // who made it
  std::int64_t created_ms = 0;
  TemplateDefinition definition{};  // with the id by which everything else knows it
  // Packages in it: their PackageSet is prepared before the template is used, which defines it.
  Dependencies dependencies{};
  std::string snapshot{};    // it stands for, or empty: then the definition is not the launcher's
  std::string layer{};       // that its packages came to: they stay what they were; or empty
  std::string image_name{};  // by which definition.image was named; empty without an image
  std::optional<PoolBounds> pool{};  // of runs; none: its base's maximum, nothing without demand
  PoolBounds session_pool{};
  bool operator==(const TemplateRecord&) const = default;
};

}  // namespace glovebox::store
