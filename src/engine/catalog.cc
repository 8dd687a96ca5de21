#include "engine/catalog.h"

#include "engine/jail/jail_engine.h"
#include "engine/process/process_engine.h"

namespace glovebox::engine {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Engine> (*make)();
};

constexpr Entry kEngines[] = {
    {"jail", [] { return std::unique_ptr<Engine>(std::make_unique<JailEngine>()); }},
    {"process", [] { return std::unique_ptr<Engine>(std::make_unique<ProcessEngine>()); }},
};

}  // namespace

std::vector<std::string_view> engine_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEngines) names.push_back(entry.name);
  return names;
}

Result<std::unique_ptr<Engine>> make_engine(std::string_view name) {
  std::string known;
  for (const Entry& entry : kEngines) {
    if (entry.name == name) return entry.make();
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return fail(Errc::kInvalidArgument,
              "unknown engine '" + std::string(name.substr(0, 40)) + "'; there are: " + known);
}

}  // namespace glovebox::engine
