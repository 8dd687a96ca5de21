// How templates, modules and variables may be named, and what a template of a server's client may
// contain. The server checks before it asks the launcher, and the launcher checks again, by the
// same rules.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/template.h"

namespace glovebox {

inline constexpr std::size_t kMaxPreload = 64;
inline constexpr std::size_t kMaxModuleBytes = 200;
inline constexpr std::size_t kMaxPreloadBytes = 6 * 1024;  // of all its modules
inline constexpr std::size_t kMaxTemplateEnv = 64;
inline constexpr std::size_t kMaxTemplateVariable = 512;       // NAME=value
inline constexpr std::size_t kMaxTemplateEnvBytes = 8 * 1024;  // of all its variables

// [a-z][a-z0-9-]{0,31}: what people call one.
bool is_template_name(std::string_view name);
// [A-Za-z_][A-Za-z0-9_]*, at most 128 of them.
bool is_identifier(std::string_view text);
// os.path: identifiers with dots between them. It can be neither a path nor an option of a program.
bool is_module_name(std::string_view name);

// "own." and 20 of [a-z0-9]: no file of the administrator's can be called so, and no request.
bool is_dynamic_template_id(std::string_view id);
std::string make_dynamic_template_id();

// Everything but what depends on its base. kInvalidArgument; the message begins with the field.
Result<> check_definition(const TemplateDefinition& definition);

}  // namespace glovebox
