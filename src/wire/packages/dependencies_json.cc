#include "wire/packages/dependencies_json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>

#include "base/hex.h"
#include "model/template_rules.h"
#include "wire/json/object_reader.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::string_view kDependencyForms =
    "must be a list of packages, or an object with packages, requirements, lock, preload, "
    "host_packages";
constexpr std::string_view kSpace = " \t\r\n";
// What pip and npm take for a file, whatever else it could be.
constexpr std::string_view kArchives[] = {".whl", ".zip",  ".tar",    ".tgz", ".tbz",
                                          ".txz", ".tlz",  ".tar.gz", ".gz",  ".bz2",
                                          ".xz",  ".lzma", ".tar.lz"};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// "requests" of "requests[socks] >= 2", "@types/node" of "@types/node@20".
std::string_view name_of(std::string_view word) {
  return word.substr(0, word.find_first_of("[<>=!~;, @(", word.starts_with('@') ? 1 : 0));
}

bool is_archive(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  });
  return std::any_of(std::begin(kArchives), std::end(kArchives),
                     [&](std::string_view end) { return small.ends_with(end); });
}

// A name, then nothing, or what begins a version, extras or a marker, to its end: "pan das" and
// "pandas," are other specifiers to us than to an installer that folds them.
bool is_formed(std::string_view word) {
  const std::string_view name = name_of(word);
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-' || c == '@' || c == '/';
  });
  if (!is_name || name.empty() || !is_letter_or_digit(name.back())) return false;
  const std::string_view rest = trimmed(word.substr(name.size()));
  if (rest.empty()) return true;
  return std::string_view("[<>=!~;(@").find(rest.front()) != std::string_view::npos &&
         std::string_view(",=<>!~;([@|&").find(rest.back()) == std::string_view::npos;
}

// npm's "@scope/name" has one slash; nothing else has any.
bool has_path(std::string_view word) {
  if (word.find('\\') != std::string_view::npos) return true;
  const std::size_t slashes = static_cast<std::size_t>(std::count(word.begin(), word.end(), '/'));
  if (slashes == 0) return false;
  const std::string_view name = name_of(word);
  const std::size_t at = name.find('/');
  return !(slashes == 1 && word.starts_with('@') && at != std::string_view::npos && at > 1 &&
           at + 1 < name.size() && is_letter_or_digit(name[at + 1]));
}

Result<std::vector<std::string>> read_specifiers(const json::array& list, const std::string& path) {
  if (list.size() > kMaxDependencies) {
    return fail_invalid(path + ": must have at most " + std::to_string(kMaxDependencies) +
                        " entries");
  }
  std::vector<std::string> specifiers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]: ";
    const json::string* text = list[i].if_string();
    if (text == nullptr) return fail_invalid(at + "must be a string");
    const std::string_view word = trimmed(std::string_view(text->data(), text->size()));
    if (auto good = check_package_specifier(word); !good)
      return fail_invalid(at + good.error().message());
    specifiers.emplace_back(word);
  }
  std::sort(specifiers.begin(), specifiers.end());
  specifiers.erase(std::unique(specifiers.begin(), specifiers.end()), specifiers.end());
  return specifiers;
}

// Line ends are one, and neither the mark that editors of Windows put in front of UTF-8 nor empty
// space around it says anything.
std::string normalised(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i];
  }
  return std::string(trimmed(out));
}

// Where Python begins a new line though there is none: U+0085, U+2028, U+2029.
bool has_strange_line_end(std::string_view text) {
  for (const std::string_view mark : {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"}) {
    if (text.find(mark) != std::string_view::npos) return true;
  }
  return false;
}

Result<std::string> read_text(ObjectReader& fields, std::string_view name) {
  TRY(const auto given, fields.text(name, kMaxRequirementsBytes));
  if (!given) return std::string();
  std::string text = normalised(*given);
  const bool is_text = std::none_of(text.begin(), text.end(), [](unsigned char c) {
    return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
  });
  if (!is_text || has_strange_line_end(text)) {
    return fields.bad(name, "must be the text of a file: no control characters");
  }
  return text;
}

Result<std::vector<std::string>> read_preload(ObjectReader& fields) {
  TRY(const auto modules, fields.texts("preload", kMaxPreload, kMaxModuleBytes));
  std::vector<std::string> preload;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (!is_module_name(modules[i])) {
      return fields.bad("preload[" + std::to_string(i) + "]",
                        "must be the name of a module, like numpy or os.path");
    }
    if (std::find(preload.begin(), preload.end(), modules[i]) != preload.end()) continue;
    bytes += modules[i].size();
    preload.push_back(modules[i]);
  }
  if (bytes > kMaxPreloadBytes) {
    return fields.bad("preload", "the names exceed 6 KB in total");
  }
  return preload;
}

Result<Dependencies> read_dependencies_object(const json::value& value, const std::string& path) {
  TRY(ObjectReader fields, ObjectReader::open(value, path));
  Dependencies wanted;
  if (const json::value* packages = fields.take("packages")) {
    const json::array* list = packages->if_array();
    if (list == nullptr) return fields.bad("packages", "must be a list of strings");
    TRY(wanted.packages, read_specifiers(*list, fields.path_of("packages")));
  }
  TRY(wanted.requirements, read_text(fields, "requirements"));
  TRY(wanted.lock, read_text(fields, "lock"));
  TRY(wanted.preload, read_preload(fields));
  TRY(wanted.host_packages, fields.truth("host_packages"));
  TRY_OK(fields.finish());
  if (auto good = check_requirements(wanted.requirements); !good) {
    return fields.bad("requirements", good.error().message());
  }
  if (!wanted.lock.empty() && (!wanted.packages.empty() || !wanted.requirements.empty())) {
    return fields.bad("lock",
                      "cannot be combined with packages or requirements: it names every package");
  }
  if (wanted.empty() && !wanted.preload.empty()) {
    return fields.bad("preload", "goes with packages, requirements or lock");
  }
  if (wanted.empty() && wanted.host_packages) {
    return fields.bad("host_packages", "goes with packages, requirements or lock");
  }
  return wanted;
}

// ---- a requirements file

// Without what stands behind a #, which begins the line or follows a space.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

bool is_hash(std::string_view token) {
  constexpr std::string_view kOption = "--hash=";
  if (!token.starts_with(kOption)) return false;
  token.remove_prefix(kOption.size());
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view kind = token.substr(0, colon);
  token.remove_prefix(colon + 1);
  return (kind == "sha256" || kind == "sha384" || kind == "sha512") && !token.empty() &&
         is_lower_hex(token);
}

Result<> check_requirement(std::string_view line) {
  line = trimmed(without_comment(line));
  if (line.empty()) return {};
  if (line == "--require-hashes" || line == "--pre" || line == "--prefer-binary") return {};
  const bool is_plain =
      std::all_of(line.begin(), line.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (!is_plain) {
    return fail_invalid("must consist of printable ASCII characters, except in comments");
  }
  // The requirement, then its options.
  std::size_t end = line.size();
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t stop = std::min(line.find(' ', at), line.size());
    const std::string_view token = line.substr(at, stop - at);
    if (token.starts_with('-')) {
      if (!is_hash(token)) {
        return fail_invalid(
            "installer options are not allowed; only --hash=sha256:... may follow a "
            "requirement, and --require-hashes, --pre or --prefer-binary stand alone");
      }
      end = std::min(end, at);
    } else if (end != line.size() && !token.empty()) {
      return fail_invalid("nothing but --hash=... may follow a --hash=...");
    }
    at = stop + 1;
  }
  const std::string_view word = trimmed(line.substr(0, end));
  if (word.find('@') != std::string_view::npos) {
    return fail_invalid("must name a package of the index, not an address");
  }
  return check_package_specifier(word);
}

}  // namespace

Result<> check_package_specifier(std::string_view word) {
  if (word.empty()) return fail_invalid("must not be empty");
  if (word.size() > kMaxDependencyBytes) {
    return fail_invalid("must have at most " + std::to_string(kMaxDependencyBytes) + " bytes");
  }
  const bool is_plain =
      std::all_of(word.begin(), word.end(), [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (!is_plain) return fail_invalid("must consist of printable ASCII characters");
  if (word[0] == '-') return fail_invalid("must be a package, not an option of the installer");
  if (word.find(':') != std::string_view::npos || word.find(" @") != std::string_view::npos ||
      word.find("@ ") != std::string_view::npos) {
    return fail_invalid("must name a package of the index, not an address");
  }
  if (word[0] == '.' || word[0] == '/' || word[0] == '~' || has_path(word) ||
      is_archive(name_of(word))) {
    return fail_invalid("must name a package of the index, not a file");
  }
  const char first = word[0] == '@' && word.size() > 1 ? word[1] : word[0];
  if (!is_letter_or_digit(first) || !is_formed(word) ||
      word.find_first_of("#$`{}%?") != std::string_view::npos) {
    return fail_invalid("must be a package like \"pandas>=2\" or \"lodash@4\"");
  }
  return {};
}

Result<> check_requirements(std::string_view text) {
  std::string joined;
  std::size_t first = 1;  // the line where what is joined began
  std::size_t number = 0;
  while (!text.empty() || !joined.empty()) {
    const bool is_last = text.empty();
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_last) ++number;
    if (joined.empty()) first = number;
    const bool is_comment = trimmed(line).starts_with('#');
    if (!is_last && line.ends_with('\\') && !is_comment) {
      joined += line.substr(0, line.size() - 1);
      if (joined.empty()) joined = " ";
      continue;
    }
    joined += is_comment ? " " + std::string(line) : std::string(line);
    if (auto good = check_requirement(joined); !good) {
      return fail_invalid("line " + std::to_string(first) + ": " + good.error().message());
    }
    joined.clear();
  }
  return {};
}

Result<Dependencies> read_dependencies(const json::value& value, const std::string& path) {
  if (const json::array* list = value.if_array()) {
    Dependencies wanted;
    TRY(wanted.packages, read_specifiers(*list, path));
    return wanted;
  }
  if (value.is_object()) return read_dependencies_object(value, path);
  return fail_invalid(path + ": " + std::string(kDependencyForms));
}

json::object dependencies_json(const Dependencies& dependencies) {
  json::object object;
  const auto add_list = [&](const char* name, const std::vector<std::string>& list) {
    if (list.empty()) return;
    json::array texts;
    for (const std::string& text : list) texts.emplace_back(text);
    object[name] = std::move(texts);
  };
  add_list("packages", dependencies.packages);
  if (!dependencies.requirements.empty()) object["requirements"] = dependencies.requirements;
  if (!dependencies.lock.empty()) object["lock"] = dependencies.lock;
  add_list("preload", dependencies.preload);
  if (dependencies.host_packages) object["host_packages"] = *dependencies.host_packages;
  return object;
}

}  // namespace glovebox::wire
