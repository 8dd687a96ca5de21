#include "api/routes/image_routes.h"

#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "images/image_fetch.h"
#include "images/image_json.h"
#include "images/image_name.h"
#include "packages/package_json.h"
#include "routing/refusals.h"
#include "routing/run_output.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

Response refuse_image(const Error& error) {
  switch (error.code()) {
    case Errc::kNotFound:
      return Response::refuse(404, "image_not_found", error.message());
    case Errc::kConflict:
      return Response::refuse(409, "image_in_use", error.message());
    case Errc::kPermissionDenied:
      return Response::refuse(403, "policy", error.message());
    case Errc::kInvalidArgument:
      return Response::refuse(422, "image_invalid", error.message());
    case Errc::kResourceExhausted:
      if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT) {
        return Response::refuse(507, "disk_full", error.message());
      }
      if (error.sys_errno() == EFBIG) {
        return Response::refuse(413, "image_too_large", error.message());
      }
      return routing::refuse_run(error);
    default:
      return routing::refuse_run(error);
  }
}

// Of a pull: what the registry said comes first.
Response refuse_pull(const Error& error, bool is_client_gone) {
  if (is_client_gone) return routing::refuse_gone_client();
  switch (error.code()) {
    case Errc::kPermissionDenied:
      return Response::refuse(403, "registry_unauthorized", error.message());
    case Errc::kPolicy:
      return Response::refuse(403, "policy", error.message());
    case Errc::kUnavailable:
      if (error.sys_errno() != images::kRegistryUnavailable) return refuse_image(error);
      return Response::refuse(502, "registry_unavailable", error.message());
    default:
      return refuse_image(error);
  }
}

// The configuration of each has up to 12 KB.
constexpr std::size_t kShortImageList = 16;

std::string image_list_text(const std::vector<images::KeptImage>& all, const std::string& project) {
  json::array list;
  for (const images::KeptImage& one : all) list.push_back(images::image_json(one, project));
  const json::object body{{"images", std::move(list)}};
  return json::serialize(body) + "\n";
}

json::object loaded_json(const images::LoadedImage& loaded, const std::string& project) {
  json::object body = images::image_json(loaded.image, project);
  body["new"] = loaded.is_new;
  return body;
}

// What the client sends, as the loader reads it.
class UploadedArchive final : public images::ImageSource {
 public:
  explicit UploadedArchive(http::BodyStream& body) : body_(body) {}
  Task<std::size_t> read_some(char* into, std::size_t size) override {
    co_return co_await body_.read_some(into, size);
  }

 private:
  http::BodyStream& body_;
};

// Progress as events. Of an upload nothing is written while the client still sends: many clients
// read an answer only behind that.
class EventProgress final : public images::ImageProgress {
 public:
  EventProgress(routing::StreamingSink* sink) : sink_(sink) {}  // NOLINT(*-explicit-*)
  asio::awaitable<bool> on_progress(std::string phase, std::string text) override {
    if (sink_ == nullptr || phase == "receiving") co_return true;
    const std::string data = json::serialize(json::object{{"phase", phase}, {"text", text}});
    co_return co_await sink_->send("progress", data);
  }

 private:
  routing::StreamingSink* const sink_;
};

struct LoadQuery {
  std::string name;
  bool is_tree = false;
};

Result<LoadQuery> load_query(const Request& request) {
  LoadQuery query;
  if (const std::string* name = request.query.find("name")) {
    TRY(query.name, images::parse_image_name(*name));
    if (images::has_digest(query.name)) {
      return fail(Errc::kInvalidArgument, "name: only a pull gives an image the name of a digest");
    }
  }
  if (const std::string* form = request.query.find("format")) {
    if (*form != "image" && *form != "tree") {
      return fail(Errc::kInvalidArgument, "format: must be image or tree");
    }
    query.is_tree = *form == "tree";
  }
  if (query.is_tree && query.name.empty()) {
    return fail(Errc::kInvalidArgument,
                "name: is required for a plain tree, which has no name of its own");
  }
  return query;
}

// Null for an answer in one piece.
routing::StreamingSink* stream_for(const Request& request, ResponseWriter& writer,
                                   std::optional<routing::StreamingSink>& stream) {
  const routing::AnswerForm form = routing::answer_form(request);
  return form == routing::AnswerForm::kJson ? nullptr : &stream.emplace(writer, form);
}

// The end of an answer in either form. `sink` is null where no stream was asked for.
Task<Response> refuse_stream(routing::StreamingSink* sink, const Request& request, Response refusal,
                             Error error) {
  if (sink == nullptr) co_return refusal;
  std::string data = routing::error_event_json(refusal, error.message(), request.id);
  co_return co_await sink->refuse(std::move(refusal), std::move(data));
}

Task<Response> respond_loaded(routing::StreamingSink* sink, const images::LoadedImage& loaded,
                              const std::string& project) {
  std::string data = json::serialize(loaded_json(loaded, project));
  if (sink == nullptr) co_return Response::json(data + "\n", 201);
  std::string event = "image";
  co_return co_await sink->respond(std::move(event), std::move(data));
}

}  // namespace

std::span<const routing::RouteRow<ImageRoutes>> ImageRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<ImageRoutes> kRows[] = {
      {Method::kGet, "/v1/images", routing::Access::kKey, &ImageRoutes::list_images,
       "List the images that sandboxes can be made of"},
      {Method::kPost, "/v1/images", routing::Access::kKey, &ImageRoutes::load_image,
       "Load an image from an archive", 0, nullptr, true},
      {Method::kPost, "/v1/images/pull", routing::Access::kKey, &ImageRoutes::pull_image,
       "Pull an image from its registry", routing::kSandboxBody},
      {Method::kPost, "/v1/images/prune", routing::Access::kKey, &ImageRoutes::prune_images,
       "Remove unused images"},
      {Method::kGet, "/v1/images/{id}", routing::Access::kKey, &ImageRoutes::get_image,
       "Get an image"},
      {Method::kPatch, "/v1/images/{id}", routing::Access::kKey, &ImageRoutes::change_image,
       "Publish or pin an image"},
      {Method::kDelete, "/v1/images/{id}", routing::Access::kKey, &ImageRoutes::remove_image,
       "Remove an image"},
  };
  return kRows;
}

Task<Response> ImageRoutes::list_images(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, deps_.authenticator.managed_project(request));
  auto all = co_await deps_.images.list(project);
  if (!all) co_return refuse_image(all.error());
  const bool is_long = all->size() > kShortImageList;
  auto writing = [images = std::move(*all), project] { return image_list_text(images, project); };
  if (!is_long) co_return deps_.responses.respond(request.owner, writing());
  std::string body = co_await deps_.worker.run(request.owner, std::move(writing));
  co_return deps_.responses.respond(request.owner, std::move(body));
}

Task<Response> ImageRoutes::load_image(Request& request, ResponseWriter& writer) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  CO_TRY(const LoadQuery query, load_query(request));
  auto admission = deps_.usage.admit(caller.who, 0, std::chrono::steady_clock::now());
  if (!admission) {
    deps_.metrics.count_refusal("key_limit", caller.project);
    co_return routing::refuse_run(admission.error());
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  UploadedArchive source(*request.body_stream);
  images::LoadRequest wanted{
      .project = caller.project, .name = query.name, .is_tree = query.is_tree};
  std::optional<routing::StreamingSink> stream;
  routing::StreamingSink* const sink = stream_for(request, writer, stream);
  EventProgress progress(sink);
  auto loaded = co_await deps_.images.load(std::move(wanted), source, progress, cancel);
  if (!loaded) {
    Response refusal = refuse_image(loaded.error());
    co_return co_await refuse_stream(sink, request, std::move(refusal), std::move(loaded.error()));
  }
  co_return co_await respond_loaded(sink, *loaded, caller.project);
}

Task<Response> ImageRoutes::pull_image(Request& request, ResponseWriter& writer) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  CO_TRY(images::PullRequest wanted, images::parse_pull_request(request.body));
  wanted.project = caller.project;
  auto admission = deps_.usage.admit(caller.who, 0, std::chrono::steady_clock::now());
  if (!admission) {
    deps_.metrics.count_refusal("key_limit", caller.project);
    co_return routing::refuse_run(admission.error());
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  std::optional<routing::StreamingSink> stream;
  routing::StreamingSink* const sink = stream_for(request, writer, stream);
  EventProgress progress(sink);
  auto loaded = co_await deps_.images.pull(std::move(wanted), progress, cancel);
  if (!loaded) {
    Response refusal = refuse_pull(loaded.error(), cancel->cancelled());
    deps_.metrics.count_refusal(routing::code_of(refusal), caller.project);
    co_return co_await refuse_stream(sink, request, std::move(refusal), std::move(loaded.error()));
  }
  co_return co_await respond_loaded(sink, *loaded, caller.project);
}

Task<Response> ImageRoutes::get_image(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, deps_.authenticator.managed_project(request));
  std::string said(request.param("id"));
  auto found = co_await deps_.images.find(project, std::move(said));
  if (!found) co_return refuse_image(found.error());
  co_return Response::json(json::serialize(images::image_json(*found, project)) + "\n");
}

Task<Response> ImageRoutes::change_image(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const std::string project, deps_.authenticator.managed_project(request));
  CO_TRY(images::ImageService::Change change, images::parse_image_change(request.body));
  if (change.is_public && !caller.who.is_admin()) {
    co_return Response::refuse(403, "policy", "public: only an administrator publishes images");
  }
  std::string said(request.param("id"));
  auto changed = co_await deps_.images.change(project, std::move(said), change);
  if (!changed) co_return refuse_image(changed.error());
  co_return Response::json(json::serialize(images::image_json(*changed, project)) + "\n");
}

Task<Response> ImageRoutes::remove_image(Request& request, ResponseWriter&) {
  CO_TRY(std::string project, deps_.authenticator.managed_project(request));
  std::string said(request.param("id"));
  Result<> removed = co_await deps_.images.remove(std::move(project), std::move(said));
  if (!removed) co_return refuse_image(removed.error());
  co_return Response::empty(204);
}

Task<Response> ImageRoutes::prune_images(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, deps_.authenticator.managed_project(request));
  CO_TRY(images::ImagePrune prune, images::parse_image_prune(request.body));
  prune.project = project;
  const bool dry_run = prune.dry_run;
  auto report = co_await deps_.images.prune(std::move(prune));
  if (!report) co_return refuse_image(report.error());
  const json::object body = packages::pruned_json(report->removed, report->bytes, dry_run);
  co_return Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::api
