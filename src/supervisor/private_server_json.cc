#include "supervisor/private_server_json.h"

#include <algorithm>
#include <cctype>
#include <fstream>

#include "supervisor/data_dir.h"

namespace glovebox::supervisor {

Result<std::string> private_server_json(const std::string& url, const std::string& key_path,
                                        pid_t pid) {
  std::string key;
  std::getline(std::ifstream(key_path), key);
  // Both come from the server, which is not trusted to send valid JSON strings.
  const bool is_plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
  if (!is_plain || !is_plain_url(url)) {
    return fail(Errc::kProtocol, "the server's url or admin key is malformed");
  }
  return "{\"url\":\"" + url + "\",\"api_key\":\"" + key + "\",\"pid\":" + std::to_string(pid) +
         "}";
}

}  // namespace glovebox::supervisor
