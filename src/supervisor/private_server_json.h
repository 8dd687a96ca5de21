// What a private server tells the program that started it, once, on its standard output.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace glovebox::supervisor {

// {"url":...,"api_key":...,"pid":...}: where it is, the key in the file `key_path`, and ourselves.
Result<std::string> private_words(const std::string& url, const std::string& key_path, pid_t pid);

}  // namespace glovebox::supervisor
