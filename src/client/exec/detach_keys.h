// Finds the detach keys in terminal input: Ctrl-P, then Ctrl-Q. A Ctrl-P that something else
// follows is passed on.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::client {

class DetachKeys {
 public:
  // The part of `typed` to send. Empty once the detach keys were found.
  std::string filter(std::string_view typed) {
    std::string sent;
    for (const char c : typed) {
      if (found_) break;
      if (held_ && c == kSecond) {
        found_ = true;
        break;
      }
      if (held_) sent += kFirst;
      held_ = c == kFirst;
      if (!held_) sent += c;
    }
    return sent;
  }
  bool found() const { return found_; }

 private:
  static constexpr char kFirst = 0x10;
  static constexpr char kSecond = 0x11;
  bool held_ = false;
  bool found_ = false;
};

}  // namespace glovebox::client
