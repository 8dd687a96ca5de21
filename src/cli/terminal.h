// Raw mode of the caller's terminal while it shows a guest's terminal. The destructor restores it.
#pragma once

#include <termios.h>

#include "model/sandbox_spec.h"

namespace glovebox::cli {

class RawTerminal {
 public:
  explicit RawTerminal(int fd);
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  int fd_;
  termios before_{};
  bool raw_ = false;
};

TerminalSize terminal_size(int fd);

}  // namespace glovebox::cli
