// An image: the root of a file system that its publisher made, and what the publisher said about
// how programs are started in it. The launcher keeps its tree as a layer (model/layer.h), whose
// note begins with kImageNote; what follows is the server's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox {

inline constexpr std::string_view kImageNote = "glovebox-image-1\n";

inline bool is_image_note(std::string_view note) { return note.starts_with(kImageNote); }

// The part of an image's configuration that is honoured here.
struct ImageConfig {
  std::string user{};                     // "name", "uid", or either with ":group"; empty: not said
  std::string workdir{};                  // absolute; empty: not said
  std::vector<std::string> env{};         // "NAME=value"
  std::vector<std::string> entrypoint{};  // with cmd behind it: the default program
  std::vector<std::string> cmd{};
  bool operator==(const ImageConfig&) const = default;
};

// An image that a request named and that may be used for it.
struct ImageUse {
  std::string layer{};  // the id of its tree, and its own
  std::string name{};   // as the request named it
  ImageConfig config{};
  bool operator==(const ImageUse&) const = default;
};

// Variables that programs of an image's sandboxes have besides the image's own, and by which the
// server knows such a sandbox again: the image's name, and its USER and WORKDIR if it says them.
inline constexpr std::string_view kImageVariable = "GLOVEBOX_IMAGE";
inline constexpr std::string_view kImageUserVariable = "GLOVEBOX_IMAGE_USER";
inline constexpr std::string_view kImageWorkdirVariable = "GLOVEBOX_IMAGE_WORKDIR";

// What an image adds to the environment of every program: over base_environment().
std::vector<std::string> image_environment(const ImageUse& image);
// The value of a variable in an environment; empty: it is not there.
std::string variable_in(const std::vector<std::string>& env, std::string_view name);

}  // namespace glovebox
