#include "client/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>

#include "base/id.h"
#include "base/unique_fd.h"
#include "base/write_all.h"
#include "wire/base64_decode.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

const json::string* text_in_file(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_string() : nullptr;
}

const json::object* find_file(const json::object& answer, const std::string& path) {
  const json::value* files = answer.if_contains("files");
  if (files == nullptr || !files->is_array()) return nullptr;
  for (const json::value& file : files->get_array()) {
    if (!file.is_object()) continue;
    const json::string* name = text_in_file(file.get_object(), "path");
    if (name != nullptr && *name == path) return &file.get_object();
  }
  return nullptr;
}

Result<std::string> content_of(const json::object& answer, const std::string& path) {
  const json::object* file = find_file(answer, path);
  if (file == nullptr) {
    const json::string* why = text_in_file(answer, "files_error");
    return fail(Errc::kNotFound, "copy out " + path + ": " +
                                     (why != nullptr ? std::string(*why) : std::strerror(ENOENT)));
  }
  if (const json::string* text = text_in_file(*file, "content")) return std::string(*text);
  const json::string* encoded = text_in_file(*file, "content_base64");
  if (encoded == nullptr) return fail(Errc::kProtocol, "copy out " + path + ": without content");
  return wire::base64_decode(std::string_view(encoded->data(), encoded->size()));
}

Result<> replace_file(const std::string& path, const std::string& content) {
  struct stat target {};
  if (::lstat(path.c_str(), &target) == 0 && !S_ISREG(target.st_mode)) {
    // A rename would put a plain file in the place of a device or a link.
    return fail(Errc::kInvalidArgument, "copy out to " + path + ": it is not a plain file");
  }
  const std::string draft = path + ".glovebox-" + random_label(8);
  const UniqueFd file(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) return fail(Error::from_errno("write " + path));
  auto written = write_all(file.get(), content);
  if (written && ::rename(draft.c_str(), path.c_str()) != 0) {
    written = fail(Error::from_errno("rename"));
  }
  if (written) return {};
  ::unlink(draft.c_str());
  return fail(std::move(written.error()).context("write " + path));
}

}  // namespace

Result<OutFile> parse_out_file(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == word.size()) {
    return fail(Errc::kInvalidArgument, "--out " + word + ": write it like /guest/file:host/file");
  }
  return OutFile{.guest = word.substr(0, colon), .host = word.substr(colon + 1)};
}

Result<> copy_out(const json::object& answer, std::span<const OutFile> files) {
  for (const OutFile& file : files) {
    TRY(const std::string content, content_of(answer, file.guest));
    TRY_OK(replace_file(file.host, content));
  }
  return {};
}

}  // namespace glovebox::client
