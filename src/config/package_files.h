// The host's own settings of pip and npm, as far as they say where packages come from: pip.conf and
// .npmrc, in the syntax that those programs give them. Everything else in them is passed over.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::config {

// A value, and where it stands: "/etc/pip.conf:3", "environment PIP_INDEX_URL", "deps.index_url".
struct SaidThere {
  std::string text;
  std::string where;
  bool operator==(const SaidThere&) const = default;
};

// [download] is asked before [install], and that before [global].
struct PipFile {
  std::optional<SaidThere> index;
  std::vector<SaidThere> extra_indexes;
  std::vector<SaidThere> trusted_hosts;
  std::optional<SaidThere> cert;
};
// kInvalidArgument with the line that pip would not take either, or that has one of these twice.
Result<PipFile> parse_pip_config(std::string_view text, const std::string& path);

struct NpmFile {
  // "//npm.example.com/team/:_authToken=...": with what a registry is asked.
  struct Word {
    std::string host;  // "npm.example.com", perhaps with a port
    std::string path;  // "/team", or nothing
    std::string name;  // "_authToken"
    std::string value;
  };
  std::optional<SaidThere> registry;
  std::optional<SaidThere> cafile;
  std::vector<Word> words;
  // For the log: what it says that is of no use here, and why; no secrets.
  std::vector<std::string> left_out;
};
Result<NpmFile> parse_npm_config(std::string_view text, const std::string& path);

// What npm reads as `word` again, in a line of its own.
std::string npm_line(const NpmFile::Word& word);

// Only the certificates of a PEM file: a key that stands beside them stays where it is.
std::string only_certificates(std::string_view text);

// Words between blanks, tabs and line breaks.
std::vector<std::string> split_words(std::string_view text);

}  // namespace glovebox::config
