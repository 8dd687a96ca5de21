#include "api/docs_page.h"

namespace glovebox::api {
namespace {

constexpr char kOpenApi[] =
#include "openapi.inc"
    ;

constexpr char kOpenApiJson[] =
#include "openapi_json.inc"
    ;

constexpr char kPage[] =
#include "docs_html.inc"
    ;

constexpr char kStyle[] =
#include "page_css.inc"
    ;

constexpr char kScript[] =
#include "page_js.inc"
    ;

}  // namespace

std::string_view openapi_text() { return kOpenApi; }
std::string_view openapi_json() { return kOpenApiJson; }
std::string_view docs_page() { return kPage; }
std::string_view docs_style() { return kStyle; }
std::string_view docs_script() { return kScript; }

std::string_view docs_content_policy() {
  return "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
         "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'";
}

}  // namespace glovebox::api
