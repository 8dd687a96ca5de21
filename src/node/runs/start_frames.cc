#include "node/runs/start_frames.h"

#include <utility>

namespace glovebox::node {
namespace {

// A fresh interpreter with our runtime, which reads the job and does the rest.
std::vector<std::string> runtime_argv(RuntimeKind runtime, bool image) {
  const std::string directory = image ? "" : "/usr/bin/";
  if (runtime == RuntimeKind::kNode) return {directory + "node", "/opt/glovebox/node/run.js"};
  return {directory + "python3", "-I", "/opt/glovebox/python/run.py"};
}

Result<> check_size(const ExecSpec& exec) {
  std::size_t bytes = 0;
  for (const std::string& one : exec.argv) bytes += one.size() + 1;
  for (const std::string& one : exec.env) bytes += one.size() + 1;
  if (bytes > wire::kMaxExecBytes || exec.argv.size() + exec.env.size() > wire::kMaxExecStrings) {
    return fail(Errc::kInvalidArgument, "arguments and environment are too long");
  }
  return {};
}

// Some frames go both ways; these go in.
std::vector<std::byte> encoded(const wire::ClientFrame& frame) { return wire::encode(frame); }

}  // namespace

Result<StartFrames> StartFrames::make(const RunJob& job, StartMode way, RuntimeKind runtime) {
  if (way == StartMode::kProgram) {
    if (job.exec->argv.empty()) return fail(Errc::kInvalidArgument, "there is no program to start");
    TRY_OK(check_size(*job.exec));
    return StartFrames(job, way, *job.exec, {});
  }
  ExecSpec exec;
  if (way == StartMode::kColdRuntime) {
    exec.argv = runtime_argv(runtime, job.image);
    exec.user = job.user;
    exec.env = job.job->env;
    exec.workdir = job.job->workdir;
    TRY_OK(check_size(exec));
  }
  std::string code = wire::encode_job(*job.job);
  if (code.size() > wire::kMaxJobBytes) {
    return fail(Errc::kInvalidArgument, "the code and its arguments are too long");
  }
  return StartFrames(job, way, std::move(exec), std::move(code));
}

std::optional<std::vector<std::byte>> StartFrames::next() {
  if (step_ == Step::kFile) {
    if (file_ < job_->files.size()) {
      const InputFile& file = job_->files[file_];
      step_ = Step::kChunks;
      at_ = 0;
      return encoded(wire::PutFile{file.path, file.mode});
    }
    step_ = Step::kJob;
    at_ = 0;
  }
  if (step_ == Step::kChunks) {
    const std::string& content = job_->files[file_].bytes();
    if (at_ < content.size()) {
      wire::FileChunk chunk{content.substr(at_, wire::kMaxChunk)};
      at_ += chunk.bytes.size();
      return encoded(chunk);
    }
    ++file_;
    step_ = Step::kFile;
    return encoded(wire::FileEnd{});
  }
  if (step_ == Step::kJob) {
    if (at_ < code_.size()) {
      wire::JobChunk chunk{code_.substr(at_, wire::kMaxChunk)};
      at_ += chunk.bytes.size();
      return encoded(chunk);
    }
    step_ = Step::kStart;
  }
  if (step_ == Step::kStart) {
    step_ = Step::kDone;
    if (mode_ == StartMode::kWarmRuntime) return encoded(wire::StartJob{job_->shares_interpreter});
    return encoded(wire::StartProgram{exec_, mode_ == StartMode::kColdRuntime});
  }
  return std::nullopt;
}

}  // namespace glovebox::node
