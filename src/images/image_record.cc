#include "images/image_record.h"

#include <boost/json.hpp>

#include "images/image_manifest.h"
#include "images/image_name.h"
#include "model/layer.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::images {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

constexpr std::size_t kMaxProject = 200;
constexpr std::size_t kMaxDigest = 64;
constexpr std::size_t kMaxWords = 1024;

json::array texts_json(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(one);
  return out;
}

Result<ImageConfig> config_of(const json::value& value) {
  TRY(ObjectReader fields, ObjectReader::open(value, "config"));
  ImageConfig config;
  TRY(const auto user, fields.text("user", 64));
  TRY(const auto workdir, fields.text("workdir", 512));
  TRY(config.env, fields.texts("env", kMaxWords, kMaxConfigBytes));
  TRY(config.entrypoint, fields.texts("entrypoint", kMaxWords, kMaxConfigBytes));
  TRY(config.cmd, fields.texts("cmd", kMaxWords, kMaxConfigBytes));
  TRY_OK(fields.finish());
  config.user = user.value_or("");
  config.workdir = workdir.value_or("");
  return config;
}

}  // namespace

Result<std::string> image_note(const ImageRecord& record) {
  const ImageConfig& config = record.config;
  const json::object object{{"project", record.project},
                            {"names", texts_json(record.names)},
                            {"digest", record.digest},
                            {"config", json::object{{"user", config.user},
                                                    {"workdir", config.workdir},
                                                    {"env", texts_json(config.env)},
                                                    {"entrypoint", texts_json(config.entrypoint)},
                                                    {"cmd", texts_json(config.cmd)}}},
                            {"layers", record.layers},
                            {"devices", record.devices},
                            {"capabilities", record.capabilities},
                            {"public", record.is_public},
                            {"pinned", record.is_pinned}};
  std::string note = std::string(kImageNote) + json::serialize(object);
  if (note.size() > kMaxLayerNote) {
    return fail(Errc::kInvalidArgument,
                "the image's names, Env, Entrypoint and Cmd are too long together");
  }
  return note;
}

Result<ImageRecord> parse_image_note(std::string_view note) {
  if (!is_image_note(note)) return fail(Errc::kInvalidArgument, "this layer is not an image");
  TRY(const json::value document, wire::parse_strict_json(note.substr(kImageNote.size())));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  ImageRecord record;
  TRY(const auto project, fields.text("project", kMaxProject));
  TRY(record.names, fields.texts("names", ImageRecord::kMostNames, kMaxImageName + 8));
  TRY(const auto digest, fields.text("digest", kMaxDigest));
  if (const json::value* config = fields.take("config")) {
    TRY(record.config, config_of(*config));
  }
  constexpr std::uint64_t kMost = 1ull << 53;
  TRY(const auto layers, fields.whole("layers", 0, kMost));
  TRY(const auto devices, fields.whole("devices", 0, kMost));
  TRY(const auto capabilities, fields.whole("capabilities", 0, kMost));
  TRY(const auto is_public, fields.truth("public"));
  TRY(const auto is_pinned, fields.truth("pinned"));
  TRY_OK(fields.finish());
  if (!project || project->empty()) return fields.bad("project", "is missing");
  record.project = *project;
  record.digest = digest.value_or("");
  record.layers = layers.value_or(0);
  record.devices = devices.value_or(0);
  record.capabilities = capabilities.value_or(0);
  record.is_public = is_public.value_or(false);
  record.is_pinned = is_pinned.value_or(false);
  return record;
}

}  // namespace glovebox::images
