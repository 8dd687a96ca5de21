#include "model/environment.h"

#include <algorithm>
#include <string_view>

namespace glovebox {
namespace {

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

std::vector<std::string> joined_environment(std::vector<std::string> base,
                                            const std::vector<std::string>& more) {
  for (const std::string& variable : more) {
    const auto same = std::find_if(base.begin(), base.end(), [&variable](const std::string& had) {
      return name_of(had) == name_of(variable);
    });
    if (same != base.end()) {
      *same = variable;
    } else {
      base.push_back(variable);
    }
  }
  return base;
}

}  // namespace glovebox
