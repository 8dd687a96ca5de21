#include "model/template_rules.h"

#include <algorithm>
#include <set>

#include "base/id.h"

namespace glovebox {
namespace {

constexpr std::string_view kOwnPrefix = "own.";
constexpr std::size_t kOwnLabel = 20;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

tl::unexpected<Error> bad(const std::string& what) { return fail(Errc::kInvalidArgument, what); }

// Words of the dynamic linker's. In a sandbox they are the guest's own business; a zygote is
// outside of every sandbox.
bool is_linker_variable(std::string_view name) {
  return name.substr(0, 3) == "LD_" || name == "GLIBC_TUNABLES" || name == "GCONV_PATH";
}

Result<> check_preload(const std::vector<std::string>& preload) {
  if (preload.size() > kMaxPreload) {
    return bad("preload: at most " + std::to_string(kMaxPreload) + " modules");
  }
  std::size_t bytes = 0;
  std::set<std::string_view> seen;
  for (const std::string& module : preload) {
    if (module.size() > kMaxModuleBytes || !is_module_name(module)) {
      return bad("preload: must contain module names, like numpy or os.path");
    }
    if (!seen.insert(module).second) return bad("preload: names " + module + " twice");
    bytes += module.size();
  }
  if (bytes > kMaxPreloadBytes) return bad("preload: the names exceed 6 KB in total");
  return {};
}

Result<> check_env(const std::vector<std::string>& env) {
  if (env.size() > kMaxTemplateEnv) {
    return bad("env: at most " + std::to_string(kMaxTemplateEnv) + " variables");
  }
  std::size_t bytes = 0;
  std::set<std::string_view> seen;
  for (const std::string& variable : env) {
    const std::size_t equals = variable.find('=');
    const std::string_view name = std::string_view(variable).substr(0, equals);
    if (equals == std::string::npos || !is_identifier(name)) {
      return bad("env: a name may only have letters, digits and underscores");
    }
    const std::string shown(name.substr(0, 60));
    if (!seen.insert(name).second) return bad("env: has " + shown + " twice");
    if (is_linker_variable(name)) return bad("env." + shown + ": may not be set by a template");
    if (variable.find('\0') != std::string::npos)
      return bad("env." + shown + ": contains a NUL character");
    if (variable.size() > kMaxTemplateVariable) {
      return bad("env." + shown + ": name and value have together at most " +
                 std::to_string(kMaxTemplateVariable) + " bytes");
    }
    bytes += variable.size();
  }
  if (bytes > kMaxTemplateEnvBytes) return bad("env: exceeds 8 KB in total");
  return {};
}

}  // namespace

bool is_template_name(std::string_view name) {
  return !name.empty() && name.size() <= 32 && is_lower(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= 128 && is_word(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || is_digit(c); });
}

bool is_module_name(std::string_view name) {
  while (true) {
    const std::size_t dot = name.find('.');
    if (!is_identifier(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

bool is_dynamic_template_id(std::string_view id) {
  if (id.size() != kOwnPrefix.size() + kOwnLabel || id.substr(0, kOwnPrefix.size()) != kOwnPrefix) {
    return false;
  }
  id.remove_prefix(kOwnPrefix.size());
  return std::all_of(id.begin(), id.end(), [](char c) { return is_lower(c) || is_digit(c); });
}

std::string make_dynamic_template_id() { return std::string(kOwnPrefix) + random_label(kOwnLabel); }

Result<> check_definition(const TemplateDefinition& definition) {
  if (!is_dynamic_template_id(definition.id)) return bad("id: is not the id of a defined template");
  if (!is_template_name(definition.from)) {
    return bad("from: must be a name of lower-case letters, digits and dashes");
  }
  TRY_OK(check_preload(definition.preload));
  return check_env(definition.env);
}

}  // namespace glovebox
