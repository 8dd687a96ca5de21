#include "packages/testing/fake_package_service.h"

#include <algorithm>

namespace glovebox::packages {
namespace {

bool is_for(const LayerView& layer, const std::string& project) {
  const auto& all = layer.projects;
  return project == "*" || std::find(all.begin(), all.end(), project) != all.end();
}

}  // namespace

Task<PreparedPackages> FakePackageService::prepare(PackageSetRequest request,
                                                   OnBuildProgress report,
                                                   std::shared_ptr<node::CancelFlag> cancel) {
  requests.push_back(request);
  if (play) co_return co_await play(std::move(request), std::move(report), cancel);
  PreparedPackages made;
  made.template_id = request.definition.id.empty() ? made_template : request.definition.id;
  made.layer_id = made_layer;
  co_return made;
}

Task<std::vector<LayerView>> FakePackageService::list(std::string project) {
  std::vector<LayerView> found;
  for (const LayerView& layer : layers) {
    if (is_for(layer, project)) found.push_back(layer);
  }
  co_return found;
}

Task<LayerView> FakePackageService::find(std::string project, std::string id) {
  for (const LayerView& layer : layers) {
    if (is_for(layer, project) && id.size() >= 8 && layer.record.id.starts_with(id)) {
      co_return layer;
    }
  }
  co_return fail(Errc::kNotFound, "there is no such layer");
}

Task<> FakePackageService::remove(std::string id) {
  for (auto at = layers.begin(); at != layers.end(); ++at) {
    if (at->record.id != id) continue;
    if (at->record.in_use) co_return fail(Errc::kConflict, "the layer is in use");
    layers.erase(at);
    co_return Result<>();
  }
  co_return fail(Errc::kNotFound, "there is no such layer");
}

Task<PruneReport> FakePackageService::prune(PruneRequest request) {
  prunes.push_back(request);
  PruneReport report;
  for (const LayerView& layer : layers) {
    if (layer.record.in_use) continue;
    report.removed.push_back(layer.record.id);
    report.bytes += layer.record.bytes;
  }
  co_return report;
}

Task<CheckReport> FakePackageService::check(std::string) { co_return checked; }

FakePackageService::Play fails_after(std::vector<BuildProgress> words, Error error) {
  return [words = std::move(words), error = std::move(error)](
             PackageSetRequest, OnBuildProgress report,
             std::shared_ptr<node::CancelFlag>) -> Task<PreparedPackages> {
    for (const BuildProgress& progress : words) {
      if (report) report(progress);
    }
    co_return fail(error);
  };
}

LayerView layer_of(std::string id, std::vector<std::string> projects) {
  LayerView layer;
  layer.record.id = std::move(id);
  layer.record.bytes = 1000;
  layer.record.entries = 10;
  layer.record.digest = std::string(64, 'd');
  layer.record.made_ms = 1'700'000'000'000;
  layer.record.used_ms = 1'700'000'060'000;
  layer.manager = "pip";
  layer.interpreter = "cpython-3.11";
  layer.index = "https://pypi.org/simple/";
  layer.asked = {"good"};
  layer.packages = {{"good", "1.0", "good-1.0-py3-none-any.whl", std::string(64, 'f')}};
  layer.projects = std::move(projects);
  return layer;
}

}  // namespace glovebox::packages
