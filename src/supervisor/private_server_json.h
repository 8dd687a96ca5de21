// The line of JSON that a private server prints for the program that started it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace glovebox::supervisor {

// {"url":...,"api_key":...,"pid":...}; the key is read from the file `key_path`.
Result<std::string> private_server_json(const std::string& url, const std::string& key_path,
                                        pid_t pid);

}  // namespace glovebox::supervisor
