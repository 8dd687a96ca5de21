// When a statement that is typed line by line is complete, as far as a prompt needs to know. The
// interpreter has the last word; this only decides whether to ask for another line.
#pragma once

#include <string>
#include <string_view>

namespace glovebox::client {

class ReplLines {
 public:
  explicit ReplLines(std::string language) : language_(std::move(language)) {}

  // True: what was typed so far is to be run; take() it.
  bool add(std::string_view line);
  bool empty() const { return text_.empty(); }
  std::string take();

 private:
  bool is_open() const;

  std::string language_;
  std::string text_;
  bool block_ = false;  // an indented block was begun: an empty line ends it
};

}  // namespace glovebox::client
