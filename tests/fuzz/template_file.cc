// A template's file: an administrator's typing, but read by root, and its words become paths,
// arguments and environments.
#include <string>

#include "fuzz_target.h"
#include "launcher/templates/template_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto made = launcher::parse_template(text, "name", "file.toml");
  if (!made) {
    fuzz::promise(made.error().message().starts_with("file.toml:"), "an error names the file");
    return 0;
  }
  fuzz::promise(made->name == "name" && !made->built_in, "the file does not choose its name");
  fuzz::promise(made->pool_min <= made->pool_max, "a pool has room for its minimum");
  fuzz::promise(made->session_pool.min <= made->session_pool.max, "so has one of sessions");
  fuzz::promise(made->limits.wall.count() > 0, "there is always a time limit");
  fuzz::promise(made->limits.cpu_thousandths > 0 && made->limits.pids >= 2, "something can run");
  for (const std::string& layer : made->layers) {
    fuzz::promise(layer.size() > 1 && layer[0] == '/', "a layer is absolute");
    fuzz::promise((layer + "/").find("/../") == std::string::npos, "a layer goes down only");
  }
  for (const std::string& module : made->preload) {
    fuzz::promise(!module.empty() && module[0] != '-' && module[0] != '/',
                  "a module is no option and no path");
  }
  for (const std::string& entry : made->env) {
    fuzz::promise(entry.find('=') != std::string::npos && entry[0] != '=', "NAME=value");
    fuzz::promise(entry.find('\0') == std::string::npos, "no NUL in an environment");
  }
  const auto again = launcher::parse_template(text, "name", "file.toml");
  fuzz::promise(again.has_value() && *again == *made, "parsing has no memory");
  return 0;
}
