#include "client/output/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>

#include "base/base64.h"
#include "base/id.h"
#include "base/unique_fd.h"
#include "base/write_all.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

const json::string* json_string_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr ? value->if_string() : nullptr;
}

const json::object* find_file(const json::object& response, const std::string& path) {
  const json::value* files = response.if_contains("files");
  if (files == nullptr || !files->is_array()) return nullptr;
  for (const json::value& file : files->get_array()) {
    if (!file.is_object()) continue;
    const json::string* name = json_string_in(file.get_object(), "path");
    if (name != nullptr && *name == path) return &file.get_object();
  }
  return nullptr;
}

Result<std::string> file_content_in(const json::object& response, const std::string& path) {
  const json::object* file = find_file(response, path);
  if (file == nullptr) {
    const json::string* why = json_string_in(response, "files_error");
    return fail(Errc::kNotFound, "copy out " + path + ": " +
                                     (why != nullptr ? std::string(*why) : std::strerror(ENOENT)));
  }
  if (const json::string* text = json_string_in(*file, "content")) return std::string(*text);
  const json::string* encoded = json_string_in(*file, "content_base64");
  if (encoded == nullptr)
    return fail(Errc::kProtocol, "copy out " + path + ": the response has no content");
  return base64_decode(std::string_view(encoded->data(), encoded->size()));
}

Result<> replace_file(const std::string& path, const std::string& content) {
  struct stat target {};
  if (::lstat(path.c_str(), &target) == 0 && !S_ISREG(target.st_mode)) {
    // A rename would replace a device or a link with a regular file.
    return fail(Errc::kInvalidArgument, "copy out to " + path + ": not a regular file");
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

Result<OutputFile> parse_output_file(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == word.size()) {
    return fail(Errc::kInvalidArgument, "--out " + word + ": expected /guest/file:host/file");
  }
  return OutputFile{.guest = word.substr(0, colon), .host = word.substr(colon + 1)};
}

Result<> write_output_files(const json::object& response, std::span<const OutputFile> files) {
  for (const OutputFile& file : files) {
    TRY(const std::string content, file_content_in(response, file.guest));
    TRY_OK(replace_file(file.host, content));
  }
  return {};
}

}  // namespace glovebox::client
