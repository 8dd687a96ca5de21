// The contract, as YAML and as JSON, and the reference that is made of it at build time
// (docs/generate.py): a page, its style and the script of its forms. The page has nothing inline
// and uses nothing of other servers, so its content policy is strict.
#pragma once

#include <string_view>

namespace glovebox::api {

std::string_view openapi_text();
std::string_view openapi_json();
std::string_view docs_page();
std::string_view docs_style();
std::string_view docs_script();
// Style, script and requests of this server only.
std::string_view docs_content_policy();

}  // namespace glovebox::api
