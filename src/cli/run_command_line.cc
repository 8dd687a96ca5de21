#include "cli/run_command_line.h"

#include "options/package_options.h"

namespace glovebox::cli {
namespace {

// One is valid; parse_run_options() explains the others.
constexpr std::size_t kMostOperands = 100'000;

}  // namespace

options::CommandLine run_command_line_of(RunCommandLine& typed) {
  return {
      .name = "glovebox run",
      .usage = {"[FILE | -c CODE | -] [OPTIONS] [-- ARGS]"},
      .description =
          "Run code in a fresh sandbox. FILE is the program; - reads it from standard input. ARGS "
          "are its arguments.",
      .groups =
          {{"Options",
            {{"-c,--code", "CODE", "run CODE instead of a file", &typed.code},
             {"--language", "LANG",
              "python, bash or javascript (default: by file extension; python for -c and -)",
              &typed.lang, "--lang"},
             {"--exec", "PROGRAM", "run an executable of the sandbox instead of code",
              &typed.program},
             {"--engine", "ENGINE",
              "jail (default) or process (a convenience, not a security boundary)", &typed.engine},
             {"--min-grade", "GRADE",
              "refuse weaker isolation than process, jail-partial, jail, user-kernel or vm",
              &typed.min_grade},
             {"--timeout", "TIME", "wall-clock limit, like 10s or 500ms (default 30s)",
              &typed.timeout},
             {"--cpu-time", "TIME", "limit of CPU time of all its processes together",
              &typed.cpu_time},
             {"--memory", "SIZE", "memory limit, like 256M (default 512M)", &typed.memory},
             {"--cpus", "NUMBER", "share of CPUs, like 0.5 (default 1)", &typed.cpus},
             {"--pids", "NUMBER", "limit of processes and threads (default 128)", &typed.pids},
             {"--disk", "SIZE", "limit of written data, like 100M (default 256M)", &typed.disk},
             {"--output-limit", "SIZE",
              "drop output beyond this size (default: no limit; 10M with --json)",
              &typed.output_limit},
             {"--mount", "MODE:HOST[:GUEST]",
              "mount a host path: ro:/host[:/guest] or rw:/host[:/guest] (repeatable); sockets in "
              "it can be connected to",
              &typed.mounts},
             {"--env", "NAME=VALUE",
              "set an environment variable (repeatable); nothing else of your environment is "
              "passed on",
              &typed.env},
             {"--cwd", "DIR", "working directory (default /home/user)", &typed.workdir,
              "--workdir"},
             {"--file", "HOST:GUEST", "copy a file in before the run (repeatable)",
              &typed.files_in},
             {"--out", "GUEST:HOST", "copy a file out after the run (repeatable)",
              &typed.files_out},
             {"--deny-import", "MODULE",
              "process engine: deny this Python module in addition to the default ones "
              "(repeatable)",
              &typed.deny_imports},
             {"--allow-import", "MODULE",
              "process engine: allow only these Python modules (repeatable)", &typed.allow_imports},
             {"--net", "POLICY",
              "network policy: none (default), https-only, all, or rules like "
              "pypi.org:443,*.pypi.org (repeatable)",
              &typed.net},
             {"--net-deny", "RULE[,RULE]", "exceptions from --net (repeatable)", &typed.net_deny},
             server_option(typed.where),
             url_option(typed.where),
             key_option(typed.where),
             data_dir_option(typed.where),
             {"--template", "NAME",
              "on a server: template of the sandbox, one of `glovebox template list`",
              &typed.template_name},
             {"--image", "NAME",
              "run in an image, one of `glovebox image list`, with its own interpreter; without a "
              "program its ENTRYPOINT and CMD",
              &typed.image},
             {"--pull", "WHEN",
              "with --image: pull it from its registry when it is missing (default), always or "
              "never",
              &typed.pull},
             {"--reuse", "MODE",
              "on a server: sandbox, to share one with other runs of Python code that have the "
              "same limits, with a new process and new files; interpreter, to share these, too, "
              "with runs of the same code (default never)",
              &typed.reuse},
             local_option(typed.where),
             {"--json", "", "print one JSON object instead of streaming the output", &typed.json},
             {"-i,--interactive", "", "pass standard input on (this is the default)",
              &typed.interactive},
             {"-t,--tty", "", "allocate a terminal (Ctrl-] ends the sandbox)", &typed.terminal,
              "--terminal"}}},
           options::package_options("Packages", typed.packages)},
      .notes =
          "Exit status: that of the program; 124 the time limit was reached; 137 killed (also "
          "when\n"
          "out of memory); 127 the sandbox has no such program, 126 it is not executable; 125\n"
          "Glovebox failed; 2 bad usage.\n\n"
          "Examples:\n"
          "  glovebox run script.py -- --input data.csv\n"
          "  glovebox run -c 'print(1+1)' --json\n"
          "  echo 'uname -a' | glovebox run --language bash -\n"
          "  glovebox run --exec /usr/bin/env --memory 64M --timeout 2s\n"
          "  glovebox run fetch.py --net pypi.org:443,files.pythonhosted.org:443\n"
          "  glovebox run report.py --with 'pandas>=2' --preload pandas\n"
          "  glovebox run --image python:3.13-slim -c 'print(1)'\n",
      .most_operands = kMostOperands,
      .has_program_arguments = true};
}

}  // namespace glovebox::cli
