// What E2B's clients send: bodies and queries of the control plane, names of templates, and the
// envelope around a message to a sandbox. The first byte says which.
#include <boost/json.hpp>
#include <string>

#include "dialects/e2b/control/sandbox_request.h"
#include "dialects/e2b/control/template_names.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/envd/file_paths.h"
#include "dialects/e2b/envd/filesystem_request.h"
#include "dialects/e2b/envd/process_json.h"
#include "dialects/e2b/interpreter/interpreter_json.h"
#include "dialects/e2b/interpreter/interpreter_stream.h"
#include "fuzz_target.h"
#include "sessions/processes/process_label.h"
#include "sessions/session_lifecycle.h"
#include "wire/guest/session_frames.h"
#include "wire/json/strict_json.h"

namespace {

using namespace glovebox;

constexpr std::uint64_t kYear = 365ull * 24 * 3600;

template <class T>
bool is_read(const Result<T>& result) {
  if (result) return true;
  fuzz::promise(result.error().code() == Errc::kInvalidArgument, "it is the caller's mistake");
  fuzz::promise(!result.error().message().empty(), "and is told");
  return false;
}

void create(std::string_view body) {
  const auto wanted = e2b::parse_create(body, e2b::kTimeoutV2);
  if (!is_read(wanted)) return;
  const sessions::CreateRequest& request = wanted->request;
  fuzz::promise(request.ttl_s && *request.ttl_s >= 1 && *request.ttl_s <= kYear,
                "the time is in bounds");
  fuzz::promise(!wanted->template_id.empty() && wanted->template_id.size() <= 256,
                "there is a name");
  fuzz::promise(request.template_name.empty() && request.snapshot.empty(), "that is looked up");
  fuzz::promise(request.metadata.size() <= sessions::kMaxMetadata + 1, "metadata is bounded");
  for (const auto& [key, value] : request.metadata) {
    fuzz::promise(key.find('\0') == std::string::npos && value.find('\0') == std::string::npos,
                  "no NUL is kept");
  }
  for (const std::string& word : request.env) {
    fuzz::promise(word.find('=') != std::string::npos && word.find('\0') == std::string::npos,
                  "a variable has a name");
  }
}

void small_bodies(std::string_view body) {
  const auto connect = e2b::parse_connect(body, e2b::kTimeoutV1);
  if (is_read(connect)) fuzz::promise(connect->timeout_s >= 1, "connecting gives time");
  const auto timeout = e2b::parse_timeout(body);
  if (is_read(timeout)) fuzz::promise(*timeout <= kYear, "the time is in bounds");
  const auto fork = e2b::parse_fork(body);
  if (is_read(fork)) {
    fuzz::promise(fork->count >= 1 && fork->count <= e2b::kMaxForks, "forks are bounded");
  }
  const auto snapshot = e2b::parse_snapshot(body);
  if (is_read(snapshot))
    fuzz::promise(snapshot->name.size() <= sessions::kMaxSnapshotName, "names, too");
  (void)is_read(e2b::parse_refresh(body));
  (void)is_read(e2b::parse_memory(body));
  const auto egress = e2b::parse_egress(body);
  if (is_read(egress)) {
    fuzz::promise(egress->allow.size() <= net::kMaxRules && egress->deny.size() <= net::kMaxRules,
                  "rules are bounded");
  }
}

void filter(std::string_view text) {
  const auto pairs = e2b::parse_metadata_filter(text);
  if (is_read(pairs)) {
    for (const auto& [key, value] : *pairs) {
      fuzz::promise(key.find('\0') == std::string::npos && value.find('\0') == std::string::npos,
                    "no NUL reaches the store");
    }
  }
  (void)is_read(e2b::parse_time(text));
  for (const char* name : {"state", "limit", "order", "metadata", "startedAfter"}) {
    http::Params query;
    query.add(name, std::string(text));
    const auto list = e2b::parse_list(query);
    if (!is_read(list)) continue;
    fuzz::promise(list->limit >= 1 && list->limit <= 100, "a page is bounded");
    fuzz::promise(!list->states.empty(), "what is over is not listed");
  }
}

void name(std::string_view text) {
  const store::SnapshotRecord unnamed{.project = "one"};
  const bool is_it = e2b::matches_name(unnamed, text);
  fuzz::promise(!is_it || text.find(unnamed.id.str()) != std::string_view::npos,
                "one without a name has its id");
  store::SnapshotRecord named{.project = "one", .name = std::string(text)};
  if (text.empty() || text.find_first_of("/:") != std::string_view::npos) return;
  fuzz::promise(e2b::matches_name(named, text), "a name finds what it was given to");
  fuzz::promise(e2b::matches_name(named, e2b::snapshot_name(named)), "in its long form, too");
}

void envelope(std::string_view text) {
  http::Request request;
  request.headers.add("Content-Type", "application/connect+json");
  request.body = std::string(text);
  (void)is_read(e2b::read_message(request));
  http::Request plain;
  plain.body = std::string(text);
  const auto bare = e2b::read_message(plain);
  http::Request wrapped;
  wrapped.headers.add("Content-Type", "application/connect+json");
  wrapped.body = e2b::envelope(text, 0);
  const auto unwrapped = e2b::read_message(wrapped);
  fuzz::promise(bare.has_value() == unwrapped.has_value(), "an envelope changes nothing");
  fuzz::promise(!bare || *bare == *unwrapped, "and nothing in it");
}

void interpreter(std::string_view body) {
  const auto wanted = e2b::read_execute(body);
  if (is_read(wanted)) {
    fuzz::promise(!wanted->context || !wanted->language, "one says where");
    fuzz::promise(wanted->code.find('\0') == std::string::npos, "code is text");
    for (const std::string& word : wanted->env) {
      fuzz::promise(word.find('=') != std::string::npos, "a variable has a name");
    }
  }
  const auto context = e2b::read_context(body);
  if (is_read(context)) fuzz::promise(context->cwd.starts_with('/'), "a directory is absolute");
}

void files(std::string_view text) {
  const auto path = e2b::request_path(text);
  if (is_read(path)) {
    fuzz::promise(!path->empty() && path->size() <= wire::kMaxSessionPath, "a path is bounded");
    fuzz::promise(path->find('\0') == std::string::npos, "and hides no NUL");
    fuzz::promise(e2b::clean_path(*path) == *path, "it is clean");
    fuzz::promise(path->starts_with('/') == text.starts_with('/'), "whole or below the home");
    const std::string whole = e2b::clean_path("/home/user/" + *path, e2b::Parents::kResolved);
    fuzz::promise(whole.starts_with('/'), "an answer's is whole");
    fuzz::promise(("/" + whole + "/").find("/../") == std::string::npos, "and goes nowhere back");
  }
  http::Request request;
  request.body = std::string(text);
  const auto call = e2b::read_filesystem_request(request);
  if (!call) return;
  fuzz::promise(!call->at.empty() && call->user == "user", "there is a path, and a user");
  (void)is_read(e2b::number_field(call->message, "depth"));
  (void)is_read(e2b::truth_field(call->message, "recursive"));
}

void process(std::string_view text) {
  const auto message = wire::parse_strict_json(text);
  if (!message) return;
  const auto start = e2b::read_start(*message);
  if (is_read(start)) {
    fuzz::promise(!start->cmd.empty() && start->tag.size() <= sessions::kMaxTag,
                  "there is a program");
    std::vector<std::string> words = start->args;
    words.push_back(start->cmd);
    words.push_back(start->cwd);
    for (const std::string& word : start->envs) {
      fuzz::promise(word.find('=') != std::string::npos, "a variable has a name");
      words.push_back(word);
    }
    for (const std::string& word : words) {
      fuzz::promise(word.find('\0') == std::string::npos, "no NUL is kept");
    }
    const auto cwd = e2b::directory_of(start->cwd, "user");
    if (is_read(cwd)) fuzz::promise(cwd->starts_with('/'), "a directory is absolute");
    sessions::ProcessLabel label;
    label.cmd = start->cmd;
    label.cwd = start->cwd;
    label.args = start->args;
    label.envs = start->envs;
    label.tag = start->tag;
    const std::string kept = sessions::encode_label(label);
    fuzz::promise(kept.size() <= wire::kMaxLabel, "a label fits");
    fuzz::promise(sessions::decode_label(kept).tag == start->tag, "and keeps the tag whole");
  }
  const auto which = e2b::read_selector(*message);
  if (is_read(which)) fuzz::promise(which->pid || !which->tag.empty(), "a process is named");
  (void)is_read(e2b::read_input(*message));
  const auto size = e2b::read_terminal(*message);
  if (is_read(size) && *size)
    fuzz::promise((*size)->rows > 0 && (*size)->columns > 0, "it is seen");
  (void)e2b::read_signal(*message);
}

// A line that a sandbox wrote.
void execution_line(std::string_view line) {
  const boost::json::object event = e2b::execution_event(line);
  if (event.empty()) return;
  const std::string text = e2b::ascii_json(event);
  for (const char c : text) fuzz::promise(c >= ' ', "one line, in ASCII");
  const wire::JsonBounds bounds{.depth = 80, .values = 100'000};
  fuzz::promise(wire::parse_strict_json(text, bounds).has_value(), "of JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  void (*const all[])(std::string_view) = {create,      small_bodies,   filter, name,   envelope,
                                           interpreter, execution_line, files,  process};
  all[data[0] % std::size(all)](rest);
  return 0;
}
