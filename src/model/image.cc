#include "model/image.h"

#include "model/environment.h"

namespace glovebox {
namespace {

bool is_root(std::string_view user) {
  const std::string_view name = user.substr(0, user.find(':'));
  return name == "root" || name == "0";
}

}  // namespace

std::vector<std::string> image_environment(const ImageUse& image) {
  std::vector<std::string> env = {"SHELL=/bin/sh"};  // few images have bash
  if (is_root(image.config.user)) {
    env = joined_environment(std::move(env), {"HOME=/root", "USER=root", "LOGNAME=root"});
  }
  env = joined_environment(std::move(env), image.config.env);
  std::vector<std::string> ours = {std::string(kImageVariable) + "=" + image.name};
  if (!image.config.user.empty()) {
    ours.push_back(std::string(kImageUserVariable) + "=" + image.config.user);
  }
  if (!image.config.workdir.empty()) {
    ours.push_back(std::string(kImageWorkdirVariable) + "=" + image.config.workdir);
  }
  return joined_environment(std::move(env), ours);
}

std::string variable_in(const std::vector<std::string>& env, std::string_view name) {
  for (const std::string& variable : env) {
    const std::string_view text = variable;
    if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=') {
      return variable.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace glovebox
