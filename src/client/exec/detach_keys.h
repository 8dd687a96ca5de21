// Finds the keys to detach in what is typed: Ctrl-P, then Ctrl-Q. A Ctrl-P followed by anything
// else is passed on with it.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::client {

class DetachKeys {
 public:
  // What is to be sent of `typed`. After the keys nothing more is.
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
