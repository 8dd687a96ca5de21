// `--server`, `--server URL` and `--server=URL` of a command line.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace glovebox::cli {

// The words without it. Its value is optional, and a FILE may follow: only what looks like an
// address is one.
std::vector<std::string> take_server_words(std::span<const std::string> words, bool& server,
                                           std::string& url);

// On a server: it was asked for, or GLOVEBOX_URL says so.
bool is_for_a_server(bool asked, bool local);

}  // namespace glovebox::cli
