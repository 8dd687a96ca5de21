#include "config/package_files.h"

#include <algorithm>
#include <map>
#include <set>

namespace glovebox::config {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";
constexpr std::size_t kMaxValue = 4096;
constexpr std::size_t kMaxCredentials = 64;

std::string_view without_blanks(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return made;
}

// Line by line, with its number from 1.
class Lines {
 public:
  Lines(std::string_view text, std::string path) : left_(text), path_(std::move(path)) {
    if (left_.starts_with("\xef\xbb\xbf")) left_.remove_prefix(3);
  }
  bool next() {
    if (left_.empty()) return false;
    line = left_.substr(0, left_.find('\n'));
    left_.remove_prefix(std::min(line.size() + 1, left_.size()));
    ++number_;
    return true;
  }
  std::string where() const { return path_ + ":" + std::to_string(number_); }
  tl::unexpected<Error> wrong(const std::string& why) const {
    return fail(Errc::kInvalidArgument, where() + ": " + why);
  }
  std::string_view line;

 private:
  std::string_view left_;
  std::string path_;
  std::size_t number_ = 0;
};

// ---- pip.conf: what Python's RawConfigParser makes of it ----

struct Option {
  std::string text;  // lines of a value are lines here
  std::string where;
};
using Section = std::map<std::string, Option>;

bool is_ours(std::string_view section) {
  return section == "global" || section == "install" || section == "download";
}

// As pip has them: "--Extra_Index_Url" is extra-index-url.
std::string option_name(std::string_view text) {
  std::string name = lower(without_blanks(text));
  std::replace(name.begin(), name.end(), '_', '-');
  if (name.starts_with("--")) name.erase(0, 2);
  return name;
}

class PipReader {
 public:
  PipReader(std::string_view text, const std::string& path) : lines_(text, path) {}

  Result<std::map<std::string, Section>> read() {
    while (lines_.next()) {
      const std::string_view value = without_blanks(lines_.line);
      if (value.empty() || value[0] == '#' || value[0] == ';') continue;
      const std::size_t indent = lines_.line.find_first_not_of(kBlanks);
      if (option_ != nullptr && indent > indent_) {
        option_->text += '\n';
        option_->text += value;
        continue;
      }
      indent_ = indent;
      if (value[0] == '[') {
        TRY_OK(begin_section(value));
      } else {
        TRY_OK(begin_option(value));
      }
    }
    return std::move(sections_);
  }

 private:
  Result<> begin_section(std::string_view line) {
    const auto end = line.rfind(']');
    if (end == line.npos || end < 2) return lines_.wrong("a section has the form [global]");
    section_ = std::string(line.substr(1, end - 1));
    option_ = nullptr;
    if (!begun_.insert(section_).second) return lines_.wrong("this section occurs twice");
    return {};
  }

  Result<> begin_option(std::string_view line) {
    if (section_.empty()) return lines_.wrong("is before the first [section]");
    const auto sign = line.find_first_of("=:");
    if (sign == line.npos || sign == 0) return lines_.wrong("is not of the form index-url = ...");
    const std::string name = option_name(line.substr(0, sign));
    Option made{std::string(without_blanks(line.substr(sign + 1))), lines_.where()};
    // Of a section that is none of ours: read, so that its further lines are known as such.
    if (!is_ours(section_)) {
      passed_over_ = std::move(made);
      option_ = &passed_over_;
      return {};
    }
    const auto [at, is_new] = sections_[section_].emplace(name, std::move(made));
    if (!is_new) return lines_.wrong("'" + name.substr(0, 40) + "' occurs twice");
    option_ = &at->second;
    return {};
  }

  Lines lines_;
  std::map<std::string, Section> sections_;
  std::string section_;
  std::set<std::string> begun_;
  std::size_t indent_ = 0;
  Option* option_ = nullptr;  // to which a line further to the right belongs
  Option passed_over_;
};

const Option* find_option(const std::map<std::string, Section>& sections, const char* name) {
  for (const char* section : {"download", "install", "global"}) {
    const auto at = sections.find(section);
    if (at == sections.end()) continue;
    const auto option = at->second.find(name);
    if (option != at->second.end() && !without_blanks(option->second.text).empty()) {
      return &option->second;
    }
  }
  return nullptr;
}

std::optional<SourcedValue> one_value(const std::map<std::string, Section>& sections,
                                      const char* name) {
  const Option* option = find_option(sections, name);
  if (option == nullptr) return std::nullopt;
  return SourcedValue{std::string(without_blanks(option->text)), option->where};
}

std::vector<SourcedValue> several(const std::map<std::string, Section>& sections,
                                  const char* name) {
  std::vector<SourcedValue> values;
  const Option* option = find_option(sections, name);
  if (option == nullptr) return values;
  for (std::string& word : split_words(option->text)) {
    values.push_back({std::move(word), option->where});
  }
  return values;
}

// ---- .npmrc: what npm's ini makes of it ----

// Nothing: it cannot be read as one value.
std::optional<std::string> npm_value(std::string_view text) {
  text = without_blanks(text);
  const bool is_quoted =
      text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  if (is_quoted) {
    text = text.substr(1, text.size() - 2);
    // Escapes of JSON would be read here: none of what we look for has any.
    if (text.find_first_of("\"'\\") != text.npos) return std::nullopt;
    return std::string(text);
  }
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ';' || c == '#') break;
    const bool is_escape = c == '\\' && i + 1 < text.size() &&
                           (text[i + 1] == ';' || text[i + 1] == '#' || text[i + 1] == '\\');
    value += is_escape ? text[++i] : c;
  }
  return std::string(without_blanks(value));
}

bool is_npm_credential(std::string_view name) {
  return name == "_authToken" || name == "_auth" || name == "username" || name == "_password" ||
         name == "email";
}

bool is_graphic(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

// "//host/path/:_authToken". Nothing if it is about something else.
std::optional<NpmFile::Credential> npm_credential(std::string_view key) {
  if (!key.starts_with("//")) return std::nullopt;
  const auto colon = key.rfind(':');
  if (!is_npm_credential(key.substr(colon + 1))) return std::nullopt;
  std::string_view registry = key.substr(2, colon - 2);
  while (registry.ends_with('/')) registry.remove_suffix(1);
  const auto slash = registry.find('/');
  NpmFile::Credential word;
  word.host = lower(registry.substr(0, slash));
  if (slash != registry.npos) word.path = std::string(registry.substr(slash));
  word.name = std::string(key.substr(colon + 1));
  if (word.host.empty() || !is_graphic(registry)) return std::nullopt;
  return word;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const auto begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return words;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
    words.emplace_back(word);
    text.remove_prefix(word.size());
  }
}

Result<PipFile> parse_pip_config(std::string_view text, const std::string& path) {
  TRY(const auto sections, PipReader(text, path).read());
  return PipFile{.index = one_value(sections, "index-url"),
                 .extra_indexes = several(sections, "extra-index-url"),
                 .trusted_hosts = several(sections, "trusted-host"),
                 .cert = one_value(sections, "cert")};
}

Result<NpmFile> parse_npm_config(std::string_view text, const std::string& path) {
  NpmFile file;
  Lines lines(text, path);
  while (lines.next()) {
    const std::string_view line = without_blanks(lines.line);
    if (line.empty() || line[0] == ';' || line[0] == '#') continue;
    if (line[0] == '[') break;  // npm has no use for sections
    const auto leave_out = [&](std::string_view what) {
      file.left_out.push_back(lines.where() + ": " + std::string(what));
    };
    const auto sign = line.find('=');
    if (sign == line.npos) continue;  // a switch
    const auto key = npm_value(line.substr(0, sign));
    const auto value = npm_value(line.substr(sign + 1));
    if (!key) continue;
    const bool is_registry = *key == "registry";
    auto word = npm_credential(*key);
    if (*key == "ca" || *key == "ca[]") {
      leave_out(
          "inline certificates are not supported: put them into a file and set "
          "cafile");
    } else if (*key == "_auth" || *key == "_authToken" || *key == "_password") {
      leave_out("does not name its registry: //host/:" + *key + "=...");
    }
    if (!is_registry && *key != "cafile" && !word) continue;
    if (!value || !is_graphic(*value) || value->size() > kMaxValue) {
      return lines.wrong("cannot read the value of '" + (word ? word->name : *key) + "'");
    }
    const bool has_variable = value->find("${") != value->npos;
    if (word && has_variable) {
      leave_out("contains ${...}, which is not expanded here: write the value itself");
    } else if (word) {
      word->value = *value;
      file.credentials.push_back(std::move(*word));
      if (file.credentials.size() > kMaxCredentials)
        return lines.wrong("has too many credentials of registries");
    } else if (has_variable) {
      return lines.wrong("contains ${...}, which is not expanded here: write the value itself");
    } else if (!value->empty()) {
      // Of two the last counts.
      (is_registry ? file.registry : file.cafile) = SourcedValue{*value, lines.where()};
    }
  }
  return file;
}

std::string npm_line(const NpmFile::Credential& word) {
  const std::string key = "//" + word.host + word.path + "/:" + word.name + "=";
  // Quoted, it is JSON to npm; `;` and `#` would begin a comment.
  if (word.value.find_first_of(";#\"'\\[") == word.value.npos) return key + word.value;
  std::string quoted = "\"";
  for (const char c : word.value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return key + quoted + '"';
}

std::string only_certificates(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kDashes = "-----";
  std::string kept;
  for (auto at = text.find(kBegin); at != text.npos; at = text.find(kBegin)) {
    text.remove_prefix(at);
    const auto label_end = text.find(kDashes, kBegin.size());
    if (label_end == text.npos) break;
    const std::string_view label = text.substr(kBegin.size(), label_end - kBegin.size());
    const std::string last = "-----END " + std::string(label) + "-----";
    const auto end = text.find(last);
    if (end == text.npos) break;
    const std::string_view block = text.substr(0, end + last.size());
    if (block.find(kBegin, 1) != block.npos) {  // another begins before this one has ended
      text.remove_prefix(kBegin.size());
      continue;
    }
    if (label == "CERTIFICATE" || label == "TRUSTED CERTIFICATE" || label == "X509 CERTIFICATE") {
      kept.append(block);
      kept += '\n';
    }
    text.remove_prefix(block.size());
  }
  return kept;
}

}  // namespace glovebox::config
