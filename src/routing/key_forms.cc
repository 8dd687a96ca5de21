#include "routing/key_forms.h"

#include <utility>

#include "store/key.h"

namespace glovebox::routing {

KeyForms::KeyForms(std::vector<std::string_view> dialect_prefixes)
    : dialect_prefixes_(std::move(dialect_prefixes)) {}

std::string KeyForms::own_form(std::string_view presented) const {
  for (const std::string_view prefix : dialect_prefixes_) {
    if (!presented.starts_with(prefix)) continue;
    return std::string(store::kKeyPrefix).append(presented.substr(prefix.size()));
  }
  return std::string(presented);
}

bool KeyForms::is_key(std::string_view text) const {
  return store::digest_of_secret(own_form(text)).has_value();
}

}  // namespace glovebox::routing
