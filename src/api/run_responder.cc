#include "api/run_responder.h"

#include <utility>

namespace glovebox::api {
namespace {

using http::Response;

class WholeResponder final : public RunResponder {
 public:
  WholeResponder(MemoryBudget& budget, const std::string& owner)
      : budget_(budget), owner_(owner), sink_(budget, owner) {}

  node::RunSink& sink() override { return sink_; }
  bool is_whole() const override { return true; }
  void take_output(Outcome& outcome) override {
    outcome.truncated = outcome.truncated || sink_.truncated();
    outcome.out = std::move(sink_.out);
    outcome.err = std::move(sink_.err);
  }
  Task<Response> finish(std::string, std::string whole_json) override {
    Response response = Response::json(std::move(whole_json));
    response.headers.set("Cache-Control", "no-store");
    // Counted until the client has received it. The code has run, so the answer is always sent.
    response.holds = budget_.claim(owner_, response.body.size());
    if (!response.holds) response.holds = std::make_shared<char>();
    co_return response;
  }
  Task<Response> refuse(Response refusal, std::string) override { co_return refusal; }

 private:
  MemoryBudget& budget_;
  const std::string owner_;
  routing::KeepingSink sink_;
};

class LiveResponder final : public RunResponder {
 public:
  LiveResponder(http::ResponseWriter& writer, routing::AnswerForm form) : sink_(writer, form) {}

  node::RunSink& sink() override { return sink_; }
  packages::ProgressSink* progress() override { return &sink_; }
  bool begun() const override { return sink_.begun(); }
  bool is_whole() const override { return false; }
  void take_output(Outcome& outcome) override {
    outcome.out = sink_.out;
    outcome.err = sink_.err;
  }
  Task<Response> finish(std::string exit_json, std::string) override {
    std::string event = "exit";
    co_return co_await sink_.respond(std::move(event), std::move(exit_json));
  }
  Task<Response> refuse(Response refusal, std::string error_json) override {
    co_return co_await sink_.refuse(std::move(refusal), std::move(error_json));
  }

 private:
  routing::StreamingSink sink_;
};

}  // namespace

std::unique_ptr<RunResponder> make_responder(routing::AnswerForm form, MemoryBudget& budget,
                                             const std::string& owner,
                                             http::ResponseWriter& writer) {
  if (form == routing::AnswerForm::kJson) return std::make_unique<WholeResponder>(budget, owner);
  return std::make_unique<LiveResponder>(writer, form);
}

}  // namespace glovebox::api
