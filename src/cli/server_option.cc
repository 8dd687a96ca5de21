#include "cli/server_option.h"

#include <cstdlib>

namespace glovebox::cli {

std::vector<std::string> take_server_words(std::span<const std::string> words, bool& server,
                                           std::string& url) {
  const auto is_url = [](const std::string& word) {
    return word.starts_with("http://") || word.starts_with("https://");
  };
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = words[i].starts_with("--server=");
    if (words[i] != "--server" && !has_value) {
      rest.push_back(words[i]);
      continue;
    }
    server = true;
    if (has_value) url = words[i].substr(9);
    if (!has_value && i + 1 < words.size() && is_url(words[i + 1])) url = words[++i];
  }
  return rest;
}

bool is_for_a_server(bool asked, bool local) {
  const char* known = std::getenv("GLOVEBOX_URL");
  return !local && (asked || (known != nullptr && known[0] != '\0'));
}

}  // namespace glovebox::cli
