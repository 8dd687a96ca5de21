#include "config/toml_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

// See launcher/policy/policy.cc: toml++ 3.3 asserts on some malformed headers, and a mistake in a
// file is an error, not a crash.
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/unique_fd.h"
#include "config/value.h"

namespace glovebox::config {
namespace {

constexpr off_t kMostBytes = 1 << 20;

std::string position_of(const std::string& name, const toml::node& node) {
  return name + ":" + std::to_string(node.source().begin.line);
}

tl::unexpected<Error> wrong_type(const Key& key, const std::string& where) {
  return fail(Errc::kInvalidArgument,
              where + ": " + std::string(key.name) + " must be " + expectation(key));
}

// A number where text is expected, or the other way round, is a mistake worth telling; only sizes
// and durations may be either.
Result<std::string> text_of(const Key& key, const toml::node& node, const std::string& where) {
  const bool number_allowed =
      key.kind == Kind::kNumber || key.kind == Kind::kSize || key.kind == Kind::kDuration;
  if (const auto number = node.value_exact<std::int64_t>(); number && node.is_integer()) {
    if (!number_allowed || *number < 0) return wrong_type(key, where);
    return std::to_string(*number);
  }
  if (const auto flag = node.value_exact<bool>(); flag && node.is_boolean()) {
    if (key.kind != Kind::kBool) return wrong_type(key, where);
    return std::string(*flag ? "true" : "false");
  }
  if (const auto text = node.value_exact<std::string>(); text && node.is_string()) {
    if (key.kind == Kind::kNumber || key.kind == Kind::kBool) return wrong_type(key, where);
    return *text;
  }
  const toml::array* list = node.as_array();
  if (list == nullptr || key.kind != Kind::kList) return wrong_type(key, where);
  std::string joined;
  for (const toml::node& entry : *list) {
    const auto text = entry.value_exact<std::string>();
    if (!entry.is_string() || !text || text->find(',') != std::string::npos || text->empty()) {
      return wrong_type(key, where);
    }
    joined += (joined.empty() ? "" : ",") + *text;
  }
  return joined;
}

Result<toml::table> parse_toml(const std::string& text, const std::string& name) {
  // toml++ 3.3 has its own troubles with what is not ASCII, and no setting needs to be.
  const auto odd = std::find_if(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c >= 0x7f;
  });
  if (odd != text.end()) {
    const auto line = 1 + std::count(text.begin(), odd, '\n');
    return fail(Errc::kInvalidArgument,
                name + ":" + std::to_string(line) + ": is not plain ASCII text");
  }
  toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    const auto& error = parsed.error();
    return fail(Errc::kInvalidArgument, name + ":" + std::to_string(error.source().begin.line) +
                                            ": " + std::string(error.description()));
  }
  return std::move(parsed).table();
}

}  // namespace

Result<std::vector<FileEntry>> parse_file(const std::string& text, const std::string& name) {
  TRY(const toml::table sections, parse_toml(text, name));
  std::vector<FileEntry> entries;
  for (const auto& [section_name, section_node] : sections) {
    const toml::table* section = section_node.as_table();
    if (section == nullptr) {
      const std::string key(section_name.str());
      return fail(Errc::kInvalidArgument, position_of(name, section_node) + ": unknown key '" +
                                              key + "'" + suggestion_for_key(key));
    }
    for (const auto& [key_name, node] : *section) {
      FileEntry entry;
      entry.key = std::string(section_name.str()) + "." + std::string(key_name.str());
      entry.line = node.source().begin.line;
      const std::string where = position_of(name, node);
      const Key* key = find_key(entry.key);
      if (key == nullptr) {
        return fail(Errc::kInvalidArgument,
                    where + ": unknown key '" + entry.key + "'" + suggestion_for_key(entry.key));
      }
      TRY(entry.text, text_of(*key, node, where));
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

Result<std::string> read_text_file(const std::string& path, Missing missing, Trust trust) {
  // Non-blocking: a pipe under this name must not hold us up before it is refused.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    if (missing == Missing::kIsEmpty && (errno == ENOENT || errno == ENOTDIR)) return "";
    return fail(Error::from_errno("open " + path));
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail(Error::from_errno("stat " + path));
  if (!S_ISREG(info.st_mode)) return fail(Errc::kInvalidArgument, path + " is not a file");
  if (trust == Trust::kOnlyRoot && (info.st_uid != 0 || (info.st_mode & 022) != 0)) {
    return fail(Errc::kPolicy,
                path + " must be a regular file that is owned by root and writable by root only");
  }
  if (info.st_size > kMostBytes) return fail(Errc::kInvalidArgument, path + " is too long");
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) return fail(Error::from_errno("read " + path));
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::optional<std::uint64_t> first_uid_of_policy(const std::string& path) {
  const auto text = read_text_file(path, Missing::kIsEmpty, Trust::kOnlyRoot);
  if (!text) return std::nullopt;
  const auto policy = parse_toml(*text, path);
  if (!policy) return std::nullopt;
  const auto first = (*policy)["uids"]["first"].value_exact<std::int64_t>();
  if (!first || *first < 65536 || *first > 0xfffffffell) return std::nullopt;
  return static_cast<std::uint64_t>(*first);
}

}  // namespace glovebox::config
