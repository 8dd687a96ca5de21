#include "routing/query.h"

#include <charconv>
#include <string>
#include <utility>

#include "model/session.h"
#include "store/text_search.h"

namespace glovebox::routing {

Result<std::uint64_t> query_number(const http::Request& request, std::string_view name,
                                   std::uint64_t low, std::uint64_t high, std::uint64_t otherwise) {
  const std::string* text = request.query.find(name);
  if (text == nullptr) return otherwise;
  std::uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (text->empty() || ec != std::errc{} || end != text->data() + text->size() || number < low ||
      number > high) {
    return fail(Errc::kInvalidArgument, std::string(name) + ": must be a whole number from " +
                                            std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

namespace {

constexpr std::size_t kMaxSearch = 200;

Result<std::uint32_t> parse_offset(std::string_view text) {
  std::uint32_t offset = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), offset);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size() ||
      offset > store::kMostSessionsSorted) {
    return fail(Errc::kInvalidArgument, "offset: must be a whole number from 0 to " +
                                            std::to_string(store::kMostSessionsSorted));
  }
  return offset;
}

Result<> parse_sort(std::string_view text, store::SessionFilter& filter) {
  static constexpr std::pair<std::string_view, store::SessionSort> kSorts[] = {
      {"created", store::SessionSort::kCreated},
      {"expires", store::SessionSort::kExpires},
      {"state", store::SessionSort::kState},
      {"template", store::SessionSort::kTemplate},
      {"name", store::SessionSort::kName}};
  const bool is_descending = text.starts_with('-');
  if (is_descending) text.remove_prefix(1);
  for (const auto& [word, sort] : kSorts) {
    if (word != text) continue;
    filter.sort = sort;
    filter.oldest_first = !is_descending;
    if (!filter.offset) filter.offset = 0;
    return {};
  }
  return fail(Errc::kInvalidArgument,
              "sort: must be created, expires, state, template or name, or one of them behind a -");
}

}  // namespace

Result<store::SessionFilter> parse_session_filter(const http::Params& query,
                                                  std::string_view also) {
  constexpr std::string_view kPair = "metadata.";
  store::SessionFilter filter;
  for (const auto& [name, value] : query) {
    if (name == "limit") {
      const char* end = value.data() + value.size();
      const auto [stop, ec] = std::from_chars(value.data(), end, filter.limit);
      if (ec != std::errc{} || stop != end || filter.limit == 0 ||
          filter.limit > store::kMaxSessionPage) {
        return fail(Errc::kInvalidArgument, "limit: must be a whole number from 1 to " +
                                                std::to_string(store::kMaxSessionPage));
      }
    } else if (name == "cursor") {
      filter.cursor = value;
    } else if (name == "template") {
      filter.template_name = value;
    } else if (name == "q") {
      if (value.size() > kMaxSearch || value.find('\0') != std::string::npos) {
        return fail(Errc::kInvalidArgument,
                    "q: must have at most " + std::to_string(kMaxSearch) + " bytes, without NUL");
      }
      filter.search = store::search_form(value);
    } else if (name == "offset") {
      TRY(filter.offset, parse_offset(value));
    } else if (name == "sort") {
      TRY_OK(parse_sort(value, filter));
    } else if (name == "agent_id") {
      filter.agent_id = value;
    } else if (name == "match") {
      filter.name_or_prefix = value;
    } else if (name == "state") {
      std::string_view rest = value;
      while (true) {
        const std::string_view word = rest.substr(0, rest.find(','));
        const auto state = parse_session_state(word);
        if (!state) {
          return fail(Errc::kInvalidArgument,
                      "state: must be one of pending, starting, running, paused, stopped, error");
        }
        filter.states.push_back(*state);
        if (word.size() == rest.size()) break;
        rest.remove_prefix(word.size() + 1);
      }
    } else if (name.rfind(kPair, 0) == 0) {
      if (value.find('\0') != std::string::npos || name.find('\0') != std::string::npos) {
        return fail(Errc::kInvalidArgument, "metadata: must not contain NUL");
      }
      filter.metadata.emplace_back(name.substr(kPair.size()), value);
    } else if (name != "project" && (also.empty() || name != also)) {
      return fail(Errc::kInvalidArgument, name.substr(0, 60) + ": unknown parameter");
    }
  }
  if (filter.offset && !filter.cursor.empty()) {
    return fail(Errc::kInvalidArgument, "cursor: cannot be combined with offset or sort");
  }
  return filter;
}

}  // namespace glovebox::routing
