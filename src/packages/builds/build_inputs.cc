#include "packages/builds/build_inputs.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>

#include "base/percent_encoding.h"

namespace glovebox::packages {
namespace {

namespace json = boost::json;

// A setting is one line: a line break in a value must not start another setting.
std::string one_line(std::string_view text) {
  std::string line(text);
  std::erase_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return line;
}

void put_list(std::string& text, std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  text += std::string(name) + " =\n";
  for (const std::string& value : values) text += "    " + one_line(value) + "\n";
}

std::string ca_path() { return std::string(kBuildInputDir) + "ca.pem"; }

void add_secret(std::vector<std::string>& all, std::string_view secret) {
  // A shorter one would hide much of the output and protects nothing.
  constexpr std::size_t kLeast = 4;
  for (const std::string& form : {std::string(secret), percent_decode_lenient(secret)}) {
    if (form.size() >= kLeast && std::find(all.begin(), all.end(), form) == all.end()) {
      all.push_back(form);
    }
  }
}

// "https://user:password@host/": the password, or a user without a password, which is a token.
void add_secret_of_address(std::vector<std::string>& all, std::string_view address) {
  const std::size_t scheme = address.find("://");
  if (scheme == std::string_view::npos) return;
  std::string_view authority = address.substr(scheme + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return;
  const std::string_view user_info = authority.substr(0, at);
  const std::size_t colon = user_info.find(':');
  add_secret(all, colon == std::string_view::npos ? user_info : user_info.substr(colon + 1));
}

}  // namespace

std::string package_request_json(const Dependencies& dependencies) {
  json::object request;
  if (!dependencies.packages.empty()) {
    json::array packages;
    for (const std::string& one : dependencies.packages) packages.emplace_back(one);
    request["packages"] = std::move(packages);
  }
  if (!dependencies.requirements.empty()) request["requirements"] = dependencies.requirements;
  if (!dependencies.lock.empty()) request["lock"] = dependencies.lock;
  return json::serialize(request);
}

std::string built_json(const std::map<std::string, Artefact>& built) {
  json::object all;
  for (const auto& [wheel, source] : built) {
    all[wheel] = json::object{{"name", source.name},
                              {"version", source.version},
                              {"file", source.file},
                              {"sha256", source.sha256}};
  }
  return json::serialize(all);
}

std::string layout_json(const PythonLayout& layout) {
  return json::serialize(
      json::object{{"host_packages", layout.host_packages}, {"own_site", layout.own_site}});
}

std::string pip_conf(const config::PackageIndexes& indexes) {
  std::string text = "[global]\n";
  if (!indexes.pip_index.empty()) text += "index-url = " + one_line(indexes.pip_index) + "\n";
  put_list(text, "extra-index-url", indexes.pip_extra_indexes);
  put_list(text, "trusted-host", indexes.pip_trusted_hosts);
  if (!indexes.ca_bundle.empty()) text += "cert = " + ca_path() + "\n";
  return text;
}

std::string npmrc(const config::PackageIndexes& indexes) {
  std::string text;
  if (!indexes.npm_registry.empty()) text += "registry=" + one_line(indexes.npm_registry) + "\n";
  for (const std::string& line : indexes.npmrc_lines) text += one_line(line) + "\n";
  if (!indexes.ca_bundle.empty()) text += "cafile=" + ca_path() + "\n";
  return text;
}

std::vector<std::string> secrets_of(const config::PackageIndexes& indexes) {
  std::vector<std::string> all;
  add_secret_of_address(all, indexes.pip_index);
  for (const std::string& one : indexes.pip_extra_indexes) add_secret_of_address(all, one);
  add_secret_of_address(all, indexes.npm_registry);
  for (const std::string& line : indexes.npmrc_lines) {
    const std::size_t equals = line.find('=');
    // "//host/:_authToken=...": only registry settings are secret.
    if (!line.starts_with("//") && !line.starts_with('_')) continue;
    if (equals != std::string::npos) add_secret(all, std::string_view(line).substr(equals + 1));
  }
  // Longest first: one may be a prefix of another.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return all;
}

}  // namespace glovebox::packages
