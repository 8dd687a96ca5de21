// What a person types for an id: the id, the beginning of it, or a name. The client asks the server
// for a list and chooses here; all other requests use whole ids (docs/decisions/0036).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/connection/api_client.h"

namespace glovebox::client {

// Shorter beginnings of an id are not accepted.
inline constexpr std::size_t kLeastIdLetters = 4;

struct Reference {
  std::string id;
  std::string name;  // empty: none
};

// The id of the candidate that has this id or name, else of the only one whose id begins with
// `word`. kNotFound: none. kConflict: several; the message lists them. `kind` is for the message:
// "sandbox".
Result<std::string> choose_reference(std::string_view kind, const std::string& word,
                                     const std::vector<Reference>& candidates);

// A whole id costs no request. Living sandboxes come before ended ones. Besides the errors above:
// kUnavailable (no server), kPolicy (the server refused).
Result<std::string> resolve_sandbox(ApiClient& api, const std::string& word);
Result<std::string> resolve_snapshot(ApiClient& api, const std::string& word);
Result<std::string> resolve_key(ApiClient& api, const std::string& word);
// Among the newest runs only.
Result<std::string> resolve_run(ApiClient& api, const std::string& word);

// A code context of the sandbox.
Result<std::string> resolve_context(ApiClient& api, const std::string& sandbox,
                                    const std::string& word);

// For commands that open a connection per request: replaces `word` by the id. After a failure was
// printed: the exit status.
using Resolve = Result<std::string> (*)(ApiClient&, const std::string&);
std::optional<int> resolve_or_report(const ServerLocationOptions& server, Resolve resolve,
                                     std::string& word);

}  // namespace glovebox::client
