// The host's configuration of pip and npm, as far as it concerns package indexes: pip.conf and
// .npmrc, in those programs' syntax. Everything else in them is ignored.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::config {

// A value and its source: "/etc/pip.conf:3", "environment PIP_INDEX_URL", "deps.index_url".
struct SourcedValue {
  std::string text;
  std::string where;
  bool operator==(const SourcedValue&) const = default;
};

// [download] has precedence over [install], and that over [global].
struct PipFile {
  std::optional<SourcedValue> index;
  std::vector<SourcedValue> extra_indexes;
  std::vector<SourcedValue> trusted_hosts;
  std::optional<SourcedValue> cert;
};
// kInvalidArgument names the line that pip would not accept either, or that repeats an option.
Result<PipFile> parse_pip_config(std::string_view text, const std::string& path);

struct NpmFile {
  // "//npm.example.com/team/:_authToken=...": a credential of a registry.
  struct Credential {
    std::string host;  // "npm.example.com", perhaps with a port
    std::string path;  // "/team", or nothing
    std::string name;  // "_authToken"
    std::string value;
  };
  std::optional<SourcedValue> registry;
  std::optional<SourcedValue> cafile;
  std::vector<Credential> credentials;
  // For the log: ignored entries and why; without secrets.
  std::vector<std::string> left_out;
};
Result<NpmFile> parse_npm_config(std::string_view text, const std::string& path);

// The line of .npmrc for a credential.
std::string npm_line(const NpmFile::Credential& word);

// The certificates of a PEM file, without any private key in it.
std::string only_certificates(std::string_view text);

// Words between blanks, tabs and line breaks.
std::vector<std::string> split_words(std::string_view text);

}  // namespace glovebox::config
