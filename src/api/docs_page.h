// The HTML page at /docs: an introduction, the table of routes, and the contract itself. The page
// has no scripts and no external resources, so its content policy is strict.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::api {

std::string_view openapi_text();
std::string docs_page();
// Only the page's own style is allowed, by its hash.
std::string docs_content_policy();

}  // namespace glovebox::api
