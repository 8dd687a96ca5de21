#include "http/router.h"

#include <algorithm>

#include "base/assert.h"
#include "base/percent_encoding.h"
#include "http/target.h"

namespace glovebox::http {

namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  if (!path.starts_with('/')) return segments;
  path.remove_prefix(1);
  for (;;) {
    const std::size_t slash = path.find('/');
    segments.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

bool is_rest(std::string_view segment) {
  return segment.size() > 3 && segment.front() == '{' && segment.ends_with("*}");
}
bool is_param(std::string_view segment) {
  return segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
}
// Literal before parameter before rest.
int rank(std::string_view segment) { return is_rest(segment) ? 2 : is_param(segment) ? 1 : 0; }

bool more_specific(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (rank(a[i]) != rank(b[i])) return rank(a[i]) < rank(b[i]);
  }
  return a.size() > b.size();
}

bool literal_matches(std::string_view literal, std::string_view segment) {
  if (segment == literal) return true;
  if (segment.find('%') == std::string_view::npos) return false;
  const Result<std::string> decoded = percent_decode(segment);
  return decoded && *decoded == literal;
}

}  // namespace

std::optional<Response> refuse_admission(const Route& route, const Admission& otherwise,
                                         Request& request) {
  if (route.admits_itself) return std::nullopt;
  const Admission& admit = route.admit ? route.admit : otherwise;
  if (!admit) return std::nullopt;
  std::optional<Response> refused = admit(request);
  if (refused && refused->problem && route.error_form) return route.error_form(*refused, nullptr);
  return refused;
}

Router::Router(std::vector<Route> routes) {
  for (Route& route : routes) add(std::move(route));
}

void Router::add(Route route) {
  GBX_ASSERT(route.pattern.starts_with('/'));
  for (const Route& other : routes_) {
    GBX_ASSERT(other.method != route.method || other.pattern != route.pattern);
  }
  Pattern pattern;
  for (const std::string_view segment : split(route.pattern)) {
    // Only the last may take the rest.
    GBX_ASSERT(pattern.segments.empty() || !is_rest(pattern.segments.back()));
    pattern.segments.emplace_back(segment);
  }
  patterns_.push_back(std::move(pattern));
  routes_.push_back(std::move(route));
}

bool Router::matches(const Pattern& pattern, const std::vector<std::string_view>& segments,
                     Params* params) const {
  for (std::size_t i = 0; i < pattern.segments.size(); ++i) {
    const std::string& expected = pattern.segments[i];
    if (i >= segments.size()) return false;
    if (is_rest(expected)) {
      if (params == nullptr) return true;
      const char* first = segments[i].data();
      const char* last = segments.back().data() + segments.back().size();
      const Result<std::string> decoded =
          percent_decode(std::string_view(first, static_cast<std::size_t>(last - first)));
      if (decoded) params->add(expected.substr(1, expected.size() - 3), *decoded);
      return true;
    }
    if (is_param(expected)) {
      if (segments[i].empty()) return false;
      if (params == nullptr) continue;
      const Result<std::string> decoded = percent_decode(segments[i]);
      if (decoded) params->add(expected.substr(1, expected.size() - 2), *decoded);
      continue;
    }
    if (!literal_matches(expected, segments[i])) return false;
  }
  return pattern.segments.size() == segments.size();
}

Router::Match Router::find(Method method, std::string_view raw_path) const {
  Match match;
  const std::vector<std::string_view> segments = split(raw_path);
  const Pattern* best = nullptr;
  const auto wanted = [&](const Route& route) {
    return route.method == method || (method == Method::kHead && route.method == Method::kGet);
  };
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (!matches(patterns_[i], segments, nullptr)) continue;
    const Method offered = routes_[i].method;
    if (std::find(match.allowed.begin(), match.allowed.end(), offered) == match.allowed.end()) {
      match.allowed.push_back(offered);
    }
    if (!wanted(routes_[i])) continue;
    if (best != nullptr && !more_specific(patterns_[i].segments, best->segments)) continue;
    best = &patterns_[i];
    match.route = &routes_[i];
  }
  if (best != nullptr) matches(*best, segments, &match.params);
  return match;
}

std::string allow_header(const std::vector<Method>& allowed) {
  std::string text;
  const auto append = [&](std::string_view name) {
    if (!text.empty()) text += ", ";
    text += name;
  };
  for (const Method method : allowed) {
    append(method_name(method));
    const bool has_head = std::find(allowed.begin(), allowed.end(), Method::kHead) != allowed.end();
    if (method == Method::kGet && !has_head) append("HEAD");
  }
  return text;
}

}  // namespace glovebox::http
