// The launcher's parser of what clients ask.
#include "fuzz_target.h"
#include "model/template_rules.h"
#include "wire/launcher/launcher_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  fuzz::decodes_and_encodes(
      data, size, [](auto bytes) { return wire::decode_launcher_request(bytes); },
      [](const wire::LauncherRequest& request) { return wire::encode(request); });
  const auto request = wire::decode_launcher_request(fuzz::bytes_of(data, size));
  if (!request) return 0;
  fuzz::promise(size <= wire::kMaxLauncherMessage, "no longer message is taken");
  if (const auto* create = std::get_if<wire::CreateSandbox>(&*request)) {
    fuzz::promise(create->mounts.size() <= wire::kMaxMounts, "mounts are bounded");
    fuzz::promise(create->limits.wall.count() > 0 && create->limits.memory_bytes > 0 &&
                      create->limits.pids > 0,
                  "no limit is zero");
    fuzz::promise(create->layer.empty() || is_layer_id(create->layer), "a layer has an id");
  }
  if (const auto* keep = std::get_if<wire::KeepLayer>(&*request)) {
    fuzz::promise(is_layer_id(keep->record.id) && keep->record.note.size() <= kMaxLayerNote,
                  "a layer has an id and a bounded note");
  }
  if (const auto* define = std::get_if<wire::DefineTemplate>(&*request)) {
    fuzz::promise(define->definition.preload.size() <= kMaxPreload, "modules are bounded");
    fuzz::promise(define->definition.env.size() <= kMaxTemplateEnv, "variables are bounded");
    fuzz::promise(define->definition.layers.size() <= kMaxTemplateLayers, "layers are bounded");
    if (!check_definition(define->definition)) return 0;
    fuzz::promise(
        is_dynamic_template_id(define->definition.id) && is_template_name(define->definition.from),
        "names are names");
    for (const std::string& module : define->definition.preload) {
      fuzz::promise(module.find_first_of(std::string("/-\0 ", 4)) == std::string::npos,
                    "a module is no path and no option");
    }
  }
  return 0;
}
