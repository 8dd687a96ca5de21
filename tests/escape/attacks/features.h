// Which rows may be skipped on which kernel. A control that finds nothing to attack says "the
// kernel lacks it"; without a second opinion a row could come to say that by mistake, and would be
// skipped from then on without notice. Here every such row names the feature it needs, and
// the kernel is asked for that feature in another way than the attack does it: by the functions in
// it, by what it lists of itself in /proc and /sys.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace glovebox::attacks {

// What a kernel says of itself. `root` is "" but in tests.
class Kernel {
 public:
  explicit Kernel(std::string root = "") : root_(std::move(root)) {}

  // Whether a function of this name is in it, of its own or of a module that is loaded. A system
  // call that was left out is there as a weak symbol, and does not count.
  bool has_function(std::string_view name) const;
  bool has_system_call(std::string_view name) const;
  bool has_path(std::string_view path) const;
  // The text of one of its files; none if it is not there.
  std::optional<std::string> text_of(std::string_view path) const;
  // Whether a line of that file has this word.
  bool lists(std::string_view path, std::string_view word) const;

 private:
  std::string root_;
  mutable std::map<std::string, char, std::less<>> symbols_{};  // name and kind; read once
};

struct Feature {
  const char* name;
  bool (*is_there)(const Kernel&);
  // Those that have nothing to attack without it, separated by spaces; one that ends in * means
  // every row that begins so.
  const char* rows;
};

std::span<const Feature> kernel_features();

// Why the kernel cannot lack what this row attacks, in words; "" if it does lack it.
std::string objection_to_skipping(std::string_view row, std::span<const Feature> features,
                                  const Kernel& kernel);

}  // namespace glovebox::attacks
