#include "supervisor/program_arguments.h"

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "config/image_registries.h"
#include "config/package_index.h"

namespace glovebox::supervisor {

std::vector<std::string> environment_of_programs(const config::Settings& settings) {
  std::vector<std::string> environment = {"GLOVEBOX_LOG=" + settings.log_level,
                                          "GLOVEBOX_LOG_FORMAT=" + settings.log_format};
  for (const char* name :
       {"HOME", "PATH", "TZ", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "GLOVEBOX_LAYERS_DIR"}) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(std::string(name) + "=" + value);
    }
  }
  return environment;
}

std::vector<std::string> environment_of_server(const config::Settings& settings) {
  std::vector<std::string> environment = environment_of_programs(settings);
  for (const char* name : config::index_variables()) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(std::string(name) + "=" + value);
    }
  }
  return environment;
}

std::vector<std::string> index_arguments(const config::Settings& settings) {
  std::vector<std::string> arguments;
  const auto add = [&arguments](const std::vector<net::NetRule>& rules) {
    for (const auto& rule : rules) arguments.insert(arguments.end(), {kIndexOption, rule.text()});
  };
  const auto rules = config::index_rules(settings, config::own_environment());
  if (rules) {
    add(*rules);
  } else {
    log::warn("package builds are disabled", {{"error", rules.error().message()}});
  }
  if (const auto registries = config::registry_rules(settings)) add(*registries);
  return arguments;
}

std::string port_of(const std::string& url) {
  const std::size_t host = url.find("//") + 2;
  const std::size_t colon = url.rfind(':');
  if (colon == std::string::npos || colon < host) return "";
  const std::string port = url.substr(colon + 1, url.find('/', colon) - colon - 1);
  const bool digits =
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && port.size() <= 5 ? port : "";
}

}  // namespace glovebox::supervisor
