#include "cli/run_command_line.h"

#include <CLI/CLI.hpp>

namespace glovebox::cli {

void describe_run(CLI::App& app, RunWords& words) {
  app.add_option("FILE", words.file, "a program; - reads it from standard input");
  app.add_option("-c,--code", words.code, "the program's text");
  app.add_option("--lang", words.lang,
                 "python, bash or node (default: by extension, python for -c and -)");
  app.add_option("--exec", words.program, "run this executable of the sandbox instead");
  app.add_option("--engine", words.engine,
                 "jail (default) or process (a convenience, not a security boundary)");
  app.add_option("--min-grade", words.min_grade,
                 "refuse to run behind weaker walls: process, jail-partial, jail, user-kernel, vm");
  app.add_option("--timeout", words.timeout, "wall clock, like 10s or 500ms (default 30s)");
  app.add_option("--cpu-time", words.cpu_time, "CPU time of all its processes together");
  app.add_option("--memory", words.memory, "like 256M (default 512M)");
  app.add_option("--cpus", words.cpus, "share of CPUs, like 0.5 (default 1)");
  app.add_option("--pids", words.pids, "processes and threads at once (default 128)");
  app.add_option("--disk", words.disk, "what it may write, like 100M (default 256M)");
  app.add_option("--output-limit", words.output_limit,
                 "what is printed past this is dropped (default: none; 10M with --json)");
  app.add_option("--mount", words.mounts,
                 "ro:/host[:/guest] or rw:/host[:/guest]; sockets in it can be talked to")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--env", words.env, "NAME=value; nothing else of yours goes in")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--workdir", words.workdir, "where it starts (default /home/user)");
  app.add_option("--file", words.files_in, "host:guest, copied in before")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--out", words.files_out, "guest:host, copied out after")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--deny-import", words.deny_imports,
                 "process engine: a Python module it may not import, besides the usual ones")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--allow-import", words.allow_imports,
                 "process engine: the only Python modules it may import")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--net", words.net,
                 "none (default), https-only, all, or what may be reached: pypi.org:443,*.pypi.org")
      ->type_name("POLICY|RULE[,RULE]")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--net-deny", words.net_deny, "and what of it may not")
      ->type_name("RULE[,RULE]")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option(
         "--with", words.packages.with,
         "a package to install before, like 'pandas>=2' or lodash@4; kept for the next time")
      ->type_name("PACKAGE")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--requirements", words.packages.requirements,
                 "packages of a requirements.txt, with or without hashes")
      ->type_name("FILE");
  app.add_option("--lock", words.packages.lock, "packages of a pylock.toml or package-lock.json")
      ->type_name("FILE");
  app.add_option("--preload", words.packages.preload,
                 "modules of them to import ahead, so that later runs have them at once")
      ->type_name("MODULE[,MODULE]")
      ->type_size(1)
      ->allow_extra_args(false);
  app.add_option("--server", words.url,
                 "run on a server: at this URL, or the one that is known (also: GLOVEBOX_URL)")
      ->type_name("[URL]");
  app.add_option("--template", words.template_name,
                 "on a server: what it is run in, like one of `glovebox template list`")
      ->type_name("NAME");
  app.add_flag("--local", words.local, "run here, also when GLOVEBOX_URL is set");
  app.add_flag("--json", words.json, "print one JSON object instead of streaming");
  app.add_flag("-t,--tty", words.terminal, "give it a terminal (Ctrl-] ends the sandbox)");
  app.footer(
      "\nExit status: the program's own; 124 time ran out; 137 killed (out of memory included);\n"
      "125 Glovebox failed; 2 bad usage.\n\n"
      "examples:\n"
      "  glovebox run script.py -- --input data.csv\n"
      "  glovebox run -c 'print(1+1)' --json\n"
      "  echo 'uname -a' | glovebox run --lang bash -\n"
      "  glovebox run --exec /usr/bin/env --memory 64M --timeout 2s\n"
      "  glovebox run fetch.py --net pypi.org:443,files.pythonhosted.org:443\n"
      "  glovebox run report.py --with 'pandas>=2' --preload pandas");
}

}  // namespace glovebox::cli
