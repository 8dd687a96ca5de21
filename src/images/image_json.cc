#include "images/image_json.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "packages/layer_request.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::images {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

constexpr std::size_t kMaxCredential = 16 * 1024;  // tokens of clouds have a few kilobytes

Result<RegistryCredentials> credentials_of(const json::value& value) {
  TRY(ObjectReader fields, ObjectReader::open(value, "credentials"));
  RegistryCredentials credentials;
  TRY(auto username, fields.text("username", kMaxCredential));
  TRY(auto password, fields.text("password", kMaxCredential));
  TRY(auto identity_token, fields.text("identity_token", kMaxCredential));
  TRY(auto registry_token, fields.text("registry_token", kMaxCredential));
  TRY_OK(fields.finish());
  credentials.username = std::move(username).value_or("");
  credentials.password = std::move(password).value_or("");
  credentials.identity_token = std::move(identity_token).value_or("");
  credentials.registry_token = std::move(registry_token).value_or("");
  // It becomes a header as it is.
  const std::string& token = credentials.registry_token;
  const bool is_plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!is_plain) return fields.bad("registry_token", "has a character that no token has");
  return credentials;
}

json::array list_json(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(to_utf8(one));
  return out;
}

}  // namespace

json::object image_json(const KeptImage& image, const std::string& project) {
  const ImageRecord& record = image.image;
  const ImageConfig& config = record.config;
  // Of a public image another project sees what it is, and not what others do with it.
  const bool is_own = project == "*" || project == record.project;
  json::object body{{"id", image.id()},
                    {"names", list_json(record.names)},
                    {"digest", record.digest},
                    {"bytes", image.layer.bytes},
                    {"entries", image.layer.entries},
                    {"layers", record.layers},
                    {"devices_left_out", record.devices},
                    {"capabilities_lost", record.capabilities},
                    {"config", json::object{{"user", to_utf8(config.user)},
                                            {"workdir", to_utf8(config.workdir)},
                                            {"env", list_json(config.env)},
                                            {"entrypoint", list_json(config.entrypoint)},
                                            {"cmd", list_json(config.cmd)}}},
                    {"made_at", utc_text(image.layer.made_ms)},
                    {"used_at", utc_text(is_own ? image.layer.used_ms : image.layer.made_ms)},
                    {"in_use", is_own && image.layer.in_use},
                    {"public", record.is_public},
                    {"pinned", record.is_pinned}};
  if (is_own) body["project"] = record.project;
  return body;
}

Result<ImagePrune> parse_image_prune(std::string_view body) {
  TRY(const packages::PruneRequest request, packages::parse_prune_request(body));
  ImagePrune prune;
  prune.unused_for = request.unused_for;
  prune.dry_run = request.dry_run;
  return prune;
}

Result<PullRequest> parse_pull_request(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  PullRequest wanted;
  TRY(const auto name, fields.text("name", kMaxImageName));
  const json::value* credentials = fields.take("credentials");
  TRY_OK(fields.finish());
  if (!name) return fields.bad("name", "is missing");
  TRY(wanted.reference, parse_image_reference(*name));
  if (credentials != nullptr) {
    TRY(wanted.credentials, credentials_of(*credentials));
  }
  return wanted;
}

Result<ImageService::Change> parse_image_change(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  ImageService::Change change;
  TRY(change.is_public, fields.truth("public"));
  TRY(change.is_pinned, fields.truth("pinned"));
  TRY_OK(fields.finish());
  return change;
}

}  // namespace glovebox::images
