#include "cli/commands/completion.h"

#include <cstdio>

#include "cli/print.h"

namespace glovebox::cli {
namespace {

// The script reads the options from --help, so that it stays correct when they change.
constexpr const char* kBash = R"sh(# bash completion for glovebox
_glovebox_commands() { glovebox --help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'; }
_glovebox_options() {
  glovebox "$1" --help 2>/dev/null | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' '\n'
}
_glovebox_sandboxes() { glovebox sandbox list 2>/dev/null | sed -n 's/^\(sb[a-z0-9]*\) .*/\1/p'; }
_glovebox() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "$(_glovebox_commands)" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_glovebox_options "$command")" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = sandbox ]; then
    COMPREPLY=($(compgen -W "create list show kill pause resume keepalive snapshot snapshots forget" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = key ]; then
    COMPREPLY=($(compgen -W "create show list revoke" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = layers ]; then
    COMPREPLY=($(compgen -W "list show build check prune remove" -- "$word"))
  else
    case $command in
      sandbox | exec | shell | code | logs)
        COMPREPLY=($(compgen -W "$(_glovebox_sandboxes)" -- "$word")) ;;
      cp)
        compopt -o nospace -o default
        COMPREPLY=($(compgen -S : -W "$(_glovebox_sandboxes)" -- "$word") $(compgen -f -- "$word")) ;;
      *) compopt -o default ;;
    esac
  fi
}
complete -F _glovebox glovebox
_sandbox_run() {
  local word=${COMP_WORDS[COMP_CWORD]}
  compopt -o default
  COMPREPLY=()
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(sandbox-run --help 2>/dev/null | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' '\n')" -- "$word"))
  fi
}
complete -F _sandbox_run sandbox-run
)sh";

constexpr const char* kZshHead =
    "#compdef glovebox sandbox-run\nautoload -Uz bashcompinit && bashcompinit\n";

constexpr const char* kFish = R"sh(# fish completion for glovebox
function __glovebox_commands
  glovebox --help 2>/dev/null | string replace -rf '^  ([a-z][a-z-]*) +(.*)' '$1\t$2'
end
function __glovebox_options
  set -l words (commandline -opc)
  glovebox $words[2] --help 2>/dev/null | string replace -rf '^  (-\S*) .*' '$1' | string split ,
end
function __glovebox_sandboxes
  glovebox sandbox list 2>/dev/null | string replace -rf '^(sb[a-z0-9]+) .*' '$1'
end
complete -c glovebox -n __fish_use_subcommand -f -a '(__glovebox_commands)'
complete -c glovebox -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__glovebox_options)'
complete -c glovebox -n '__fish_seen_subcommand_from sandbox' -f -a 'create list show kill pause resume keepalive snapshot snapshots forget'
complete -c glovebox -n '__fish_seen_subcommand_from key' -f -a 'create show list revoke'
complete -c glovebox -n '__fish_seen_subcommand_from layers' -f -a 'list show build check prune remove'
complete -c glovebox -n '__fish_seen_subcommand_from sandbox exec shell code logs' -f -a '(__glovebox_sandboxes)'
function __sandbox_run_options
  sandbox-run --help 2>/dev/null | string replace -rf '^  (-\S*) .*' '$1' | string split ,
end
complete -c sandbox-run -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__sandbox_run_options)'
)sh";

}  // namespace

int completion_command(std::span<const std::string> args) {
  const options::CommandLine command{
      .name = "glovebox completion",
      .usage = {"bash|zsh|fish"},
      .description =
          "Print a shell script that completes commands, options and the ids of running sandboxes.",
      .groups = {},
      .notes =
          "bash:  glovebox completion bash > /etc/bash_completion.d/glovebox\n"
          "zsh:   glovebox completion zsh > \"${fpath[1]}/_glovebox\"\n"
          "fish:  glovebox completion fish > ~/.config/fish/completions/glovebox.fish\n",
      .most_operands = 1};
  options::Arguments arguments;
  if (const auto status = parse_arguments(command, args, arguments)) return *status;
  const std::string shell = arguments.operands.empty() ? "" : arguments.operands[0];
  if (shell == "bash") {
    std::fputs(kBash, stdout);
  } else if (shell == "zsh") {
    std::printf("%s%s", kZshHead, kBash);
  } else if (shell == "fish") {
    std::fputs(kFish, stdout);
  } else {
    return usage_error("the shell must be bash, zsh or fish (see `glovebox completion --help`)");
  }
  return 0;
}

}  // namespace glovebox::cli
