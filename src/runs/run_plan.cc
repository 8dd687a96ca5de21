#include "runs/run_plan.h"

#include <algorithm>

#include "model/engine_info.h"
#include "model/environment.h"
#include "net/reach.h"
#include "packages/package_plan.h"
#include "store/sha256.h"
#include "templates/project_templates.h"
#include "wire/guest/job.h"

namespace glovebox::runs {
namespace {

std::string template_for(const wire::RunRequest& request) {
  if (!request.template_name.empty()) return request.template_name;
  if (request.language == "python") return "python";
  if (request.language == "javascript") return "node";
  return "base";
}

// The same variables that `glovebox run` sets, then the template's, then the caller's.
std::vector<std::string> environment(const Template& made_of, const wire::RunRequest& request) {
  std::vector<std::string> env = base_environment();
  for (const auto* more : {&made_of.env, &request.env}) {
    for (const std::string& variable : *more) {
      const std::string name = variable.substr(0, variable.find('=') + 1);
      std::erase_if(env, [&](const std::string& old) { return old.rfind(name, 0) == 0; });
      env.push_back(variable);
    }
  }
  return env;
}

Result<ExecSpec> shell_script(const wire::RunRequest& request) {
  // The code is an argument of bash, and Linux limits one argument to 128 KB.
  constexpr std::size_t kMaxScript = 100'000;
  if (request.code->size() > kMaxScript) {
    return fail(Errc::kInvalidArgument,
                "code: a shell script can have at most 100,000 bytes; send a longer one in files");
  }
  ExecSpec exec;
  exec.argv = {"/bin/bash", "-c", *request.code, "bash"};
  exec.argv.insert(exec.argv.end(), request.args.begin(), request.args.end());
  return exec;
}

Result<EngineKind> choose_engine(const wire::RunRequest& request, EngineKind usual) {
  if (!request.engine) return usual;
  const std::string_view refusal = engine_info(*request.engine).not_for_servers;
  if (refusal.empty()) return *request.engine;
  return fail(Errc::kPolicy,
              "engine: " + std::string(engine_name(*request.engine)) + ": " + std::string(refusal));
}

// What the code of an image's run is written in.
std::string image_language(const Template& made_of, const wire::RunRequest& request) {
  if (!request.code) return "";
  return request.language.empty() ? made_of.language : request.language;
}

// The interpreter that waits is the usual user's, who is uid 1000.
bool is_usual_user(const std::string& user) {
  return user.empty() || user == "user" || user == "1000" || user == "1000:1000";
}

// Whose runtime an image gets that a request names.
std::string image_base(const wire::RunRequest& request) {
  if (request.code && request.language == "python") return "python";
  return request.code && request.language == "javascript" ? "node" : "base";
}

// The image's own interpreter, or its shell, on its own PATH.
Result<std::vector<std::string>> image_program(const std::string& language,
                                               wire::RunRequest& request) {
  const ImageConfig& config = request.profile.image_use->config;
  if (!request.code && !request.command.empty()) return std::move(request.command);
  if (!request.code) {
    std::vector<std::string> argv = config.entrypoint;
    argv.insert(argv.end(), config.cmd.begin(), config.cmd.end());
    if (argv.empty()) {
      return fail(Errc::kInvalidArgument,
                  "command: is missing, and the image has neither ENTRYPOINT nor CMD");
    }
    return argv;
  }
  // The code is an argument, and Linux limits one argument to 128 KB.
  constexpr std::size_t kMaxCode = 100'000;
  if (request.code->size() > kMaxCode) {
    return fail(Errc::kInvalidArgument,
                "code: an image's interpreter is given at most 100,000 bytes; send a longer "
                "program in files");
  }
  std::vector<std::string> argv = {"/bin/sh", "-c", std::move(*request.code), "sh"};
  if (language == "python") argv = {"python3", "-c", std::move(argv[2])};
  if (language == "javascript") argv = {"node", "-e", std::move(argv[2]), "--"};
  argv.insert(argv.end(), request.args.begin(), request.args.end());
  return argv;
}

wire::Job code_job(const Template& made_of, wire::RunRequest& request, std::string name) {
  wire::Job job;
  job.args = std::move(request.args);
  job.name = std::move(name);
  job.code = std::move(*request.code);
  job.env = environment(made_of, request);
  job.workdir = request.workdir;
  return job;
}

Result<> set_image_program(const Template& made_of, wire::RunRequest& request, RunPlan& plan) {
  node::RunJob& job = plan.job;
  const ImageConfig& config = request.profile.image_use->config;
  if (!request.has_workdir && !config.workdir.empty()) request.workdir = config.workdir;
  job.image = true;
  job.user = config.user;
  const std::string language = image_language(made_of, request);
  const bool is_python = language == "python" && made_of.runtime == RuntimeKind::kPython;
  const bool is_node = language == "javascript" && made_of.runtime == RuntimeKind::kNode;
  if (is_python || is_node) {
    job.job = code_job(made_of, request, is_node ? "main.js" : "main.py");
    if (!is_usual_user(config.user)) {
      job.cold = true;
      plan.cold_because = "the image says USER " + config.user +
                          "; an interpreter waits for the user with uid 1000 only";
    }
    return {};
  }
  plan.cold_because = "the programs of an image are started; only its Python and Node wait";
  job.exec = ExecSpec{};
  TRY(job.exec->argv, image_program(language, request));
  job.exec->env = environment(made_of, request);
  job.exec->workdir = request.workdir;
  job.exec->user = config.user;
  return {};
}

Result<> set_program(const Template& made_of, wire::RunRequest& request, node::RunJob& job) {
  if (!request.code && request.command.empty()) {
    return fail(Errc::kInvalidArgument, "code: is missing (or give command)");
  }
  if (!request.code) {
    job.exec = ExecSpec{};
    job.exec->argv = std::move(request.command);
  } else if (made_of.runtime == RuntimeKind::kNone) {
    TRY(job.exec, shell_script(request));
  } else {
    const bool is_node = made_of.runtime == RuntimeKind::kNode;
    job.job = code_job(made_of, request, is_node ? "main.js" : "main.py");
    return {};
  }
  job.exec->env = environment(made_of, request);
  job.exec->workdir = request.workdir;
  return {};
}

// For what a sandbox would be used again, if this run may be.
Result<> check_reuse(const Profile& profile, const Template& made_of, const node::RunJob& job) {
  const auto refuse = [](const std::string& why) {
    return fail(Errc::kInvalidArgument, "profile.reuse: " + why);
  };
  if (!job.job || made_of.runtime != RuntimeKind::kPython) {
    return refuse("only Python code can share a sandbox with other runs");
  }
  if (job.image) return refuse("cannot be combined with an image yet");
  if (job.cold) return refuse("cannot be combined with cold");
  if (job.engine != EngineKind::kJail) return refuse("needs the jail engine");
  if (!profile.net.is_none()) return refuse("cannot be combined with a network yet");
  for (const ProfileMount& mount : profile.mounts) {
    if (mount.mode == MountMode::kReadWrite) {
      return refuse("cannot be combined with a mount that can be written");
    }
    for (const std::string_view replaced : {"/home", "/tmp", "/var/tmp", "/dev/shm"}) {
      const std::string& path = mount.guest.str();
      if (path == replaced || path.starts_with(std::string(replaced) + "/")) {
        return refuse("cannot be combined with a mount at " + path +
                      ", because each run gets its own " + std::string(replaced));
      }
    }
  }
  return {};
}

}  // namespace

namespace {

// Everything that calls of one interpreter have in common: the code with its environment and
// directory, and the files that come with it.
std::string shared_code_digest(const node::RunJob& job) {
  std::string text = wire::encode_job(*job.job);
  for (const node::InputFile& file : job.files) {
    text += std::to_string(file.path.str().size()) + ":" + file.path.str();
    text += std::to_string(file.mode) + ":" + std::to_string(file.bytes().size()) + ":";
    text += file.bytes();
  }
  return store::sha256_hex(text);
}

}  // namespace

std::string reuse_key(const RunPlan& plan, const std::string& key_id) {
  std::string key;
  for (const std::string_view part :
       {std::string_view(key_id), std::string_view(plan.job.project), engine_name(plan.job.engine),
        std::string_view(plan.profile_hash)}) {
    key += std::to_string(part.size()) + ":" + std::string(part);
  }
  if (plan.job.shares_interpreter) key += shared_code_digest(plan.job);
  return key;
}

void set_input(node::RunJob& job, std::vector<std::string> args, std::string stdin_bytes) {
  if (job.shares_interpreter) {
    job.call = wire::encode_shared_call(args, stdin_bytes);
    job.job->args.clear();
    return;
  }
  job.stdin_bytes = std::move(stdin_bytes);
  if (job.job) {
    job.job->args = std::move(args);
  } else {
    // Of a shell script they follow its own arguments; a command has none here.
    job.exec->argv.insert(job.exec->argv.end(), args.begin(), args.end());
  }
}

Result<RunPlan> RunPlanner::plan(wire::RunRequest request, const std::string& project) const {
  const std::string name = template_for(request);
  const bool is_image = request.profile.image_use || !request.profile.image.empty();
  packages::ImageOrigin origin{.from = image_base(request)};
  if (is_image && request.profile.image.empty()) origin.own = templates_.find(project, name);
  TRY(packages::ChosenTemplate chosen,
      is_image ? packages::choose_image(node_, project, request.profile, origin)
               : packages::choose_template_with(node_, &templates_, project, name,
                                                request.profile.dependencies));
  const Template& made_of = chosen.made_of();
  if (!is_image && request.code && !request.language.empty() && !made_of.language.empty() &&
      request.language != made_of.language) {
    return fail(Errc::kInvalidArgument, "template: \"" + name + "\" runs " + made_of.language +
                                            ", not " + request.language);
  }
  RunPlan plan;
  plan.language = request.code ? made_of.language : "";
  if (is_image) plan.language = image_language(made_of, request);
  const Profile profile = fill_in(request.profile, made_of.limits);
  plan.profile_hash = store::sha256_hex(canonical_text(profile));
  TRY_OK(net::check_reach(profile.net, settings_.ceiling));
  node::RunJob& job = plan.job;
  if (!chosen.set) job.template_name = made_of.name;
  plan.template_name = name;
  TRY(job.engine, choose_engine(request, settings_.engine));
  job.limits = profile.limits;
  job.net = profile.net;
  job.output_limit = profile.output_bytes;
  for (const ProfileMount& mount : profile.mounts) {
    job.mounts.push_back({.mode = mount.mode, .guest = mount.guest, .name = mount.name});
  }
  if (settings_.keeps_code && request.code) plan.kept_code = *request.code;
  job.cold = request.cold;
  TRY_OK(is_image ? set_image_program(made_of, request, plan) : set_program(made_of, request, job));
  plan.reuse = profile.reuse;
  if (plan.reuse != ReuseMode::kNever) TRY_OK(check_reuse(profile, made_of, job));
  if (plan.reuse == ReuseMode::kInterpreter) {
    job.shares_interpreter = true;
    job.job->name = wire::kSharedRunJob;
  }
  std::vector<std::string> args;  // of a program they are there already
  if (job.job) args = std::move(job.job->args);
  set_input(job, std::move(args), std::move(request.stdin_bytes));
  for (wire::RequestFile& file : request.files) {
    job.files.push_back(
        {.path = std::move(file.path), .content = std::move(file.content), .mode = file.mode});
  }
  job.return_files = std::move(request.return_files);
  job.min_grade = request.min_grade;
  if (settings_.min_grade) {
    job.min_grade = std::max(job.min_grade.value_or(Grade::kProcess), *settings_.min_grade);
  }
  if (chosen.set && job.engine != EngineKind::kJail) {
    return fail(Errc::kUnsupported,
                std::string(is_image ? "profile.image: the " : "profile.dependencies: the ") +
                    std::string(engine_name(job.engine)) +
                    " engine supports neither packages nor images; use the jail engine");
  }
  plan.set = std::move(chosen.set);
  return plan;
}

}  // namespace glovebox::runs
