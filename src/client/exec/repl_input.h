// Decides whether a statement that is typed line by line is complete or the prompt should ask for
// another line. A guess is enough: the interpreter reports syntax errors.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::client {

class ReplInput {
 public:
  explicit ReplInput(std::string language) : language_(std::move(language)) {}

  // True: the statement is complete; take() it.
  bool add(std::string_view line);
  bool empty() const { return text_.empty(); }
  std::string take();

 private:
  bool is_open() const;

  std::string language_;
  std::string text_;
  bool block_ = false;  // inside an indented block, which an empty line ends
};

}  // namespace glovebox::client
