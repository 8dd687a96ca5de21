#include "cli/commands/completion.h"

#include <cstdio>

#include "cli/print.h"

namespace glovebox::cli {
namespace {

// The scripts read commands, subcommands and options from --help, which is made of the tables that
// the parser reads: they stay correct when those change. Of what a server says, only what looks
// like an id or a name is used: bash expands the words that it is given.
constexpr const char* kBash = R"sh(# bash completion for glovebox and sandbox-run
_glovebox_words() { sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p'; }
_glovebox_options() { sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' '\n'; }
_glovebox_sandboxes() {
  glovebox sandbox list 2>/dev/null | awk 'NR > 1 { if ($1 ~ /^sb[a-z0-9]+$/) print $1; if ($2 ~ /^[A-Za-z0-9][A-Za-z0-9._-]*$/) print $2 }'
}
_glovebox() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} help words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "$(glovebox --help 2>/dev/null | _glovebox_words)" -- "$word"))
    return
  fi
  case $command in ls | ps | rm) command=sandbox ;; esac
  help=$(glovebox "$command" --help 2>/dev/null)
  words=$(_glovebox_words <<< "$help")
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_glovebox_options <<< "$help")" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = help ]; then
    COMPREPLY=($(compgen -W "$(glovebox --help 2>/dev/null | _glovebox_words)" -- "$word"))
  elif [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ] && [ "$command" = "${COMP_WORDS[1]}" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
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
    COMPREPLY=($(compgen -W "$(sandbox-run --help 2>/dev/null | _glovebox_options)" -- "$word"))
  fi
}
complete -F _sandbox_run sandbox-run
)sh";

constexpr const char* kZsh = R"sh(#compdef glovebox sandbox-run
# zsh completion for glovebox and sandbox-run
local help command=$words[2]
local -a found
if [[ $service == sandbox-run ]]; then
  if [[ $PREFIX == -* ]]; then
    found=(${(f)"$(sandbox-run --help 2>/dev/null | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' '\n')"})
    compadd -a found
  else
    _files
  fi
  return
fi
if (( CURRENT == 2 )); then
  found=(${(f)"$(glovebox --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p')"})
  compadd -a found
  return
fi
case $command in ls | ps | rm) command=sandbox ;; esac
help=$(glovebox $command --help 2>/dev/null)
found=(${(f)"$(sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p' <<< $help)"})
if [[ $PREFIX == -* ]]; then
  found=(${(f)"$(sed -n 's/^  \(-[^ ]*\).*/\1/p' <<< $help | tr ',' '\n')"})
  compadd -a found
elif (( CURRENT == 3 )) && [[ $command == help ]]; then
  found=(${(f)"$(glovebox --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p')"})
  compadd -a found
elif (( CURRENT == 3 && $#found )) && [[ $command == $words[2] ]]; then
  compadd -a found
else
  found=(${(f)"$(glovebox sandbox list 2>/dev/null | awk 'NR > 1 { if ($1 ~ /^sb[a-z0-9]+$/) print $1; if ($2 ~ /^[A-Za-z0-9][A-Za-z0-9._-]*$/) print $2 }')"})
  case $command in
    sandbox | exec | shell | code | logs) compadd -a found ;;
    cp) compadd -S : -a found; _files ;;
    *) _files ;;
  esac
fi
)sh";

constexpr const char* kFish = R"sh(# fish completion for glovebox and sandbox-run
function __glovebox_words
  sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p'
end
function __glovebox_dashed
  sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr ',' '\n'
end
function __glovebox_command
  set -l words (commandline -opc)
  switch "$words[2]"
    case ls ps rm
      echo sandbox
    case '*'
      echo $words[2]
  end
end
function __glovebox_position
  test (count (commandline -opc)) -eq $argv[1]
end
function __glovebox_sandboxes
  glovebox sandbox list 2>/dev/null | awk 'NR > 1 { if ($1 ~ /^sb[a-z0-9]+$/) print $1; if ($2 ~ /^[A-Za-z0-9][A-Za-z0-9._-]*$/) print $2 }'
end
complete -c glovebox -n '__glovebox_position 1' -f -a '(glovebox --help 2>/dev/null | __glovebox_words)'
complete -c glovebox -n 'not __glovebox_position 1; and string match -q -- "-*" (commandline -ct)' -f -a '(glovebox (__glovebox_command) --help 2>/dev/null | __glovebox_dashed)'
complete -c glovebox -n '__glovebox_position 2; and not __fish_seen_subcommand_from ls ps rm help' -f -a '(glovebox (__glovebox_command) --help 2>/dev/null | __glovebox_words)'
complete -c glovebox -n '__glovebox_position 2; and __fish_seen_subcommand_from help' -f -a '(glovebox --help 2>/dev/null | __glovebox_words)'
complete -c glovebox -n '__fish_seen_subcommand_from exec shell code logs rm' -f -a '(__glovebox_sandboxes)'
complete -c glovebox -n '__fish_seen_subcommand_from sandbox; and not __glovebox_position 2' -f -a '(__glovebox_sandboxes)'
complete -c sandbox-run -n 'string match -q -- "-*" (commandline -ct)' -f -a '(sandbox-run --help 2>/dev/null | __glovebox_dashed)'
)sh";

}  // namespace

int completion_command(std::span<const std::string> args) {
  const options::CommandLine command{
      .name = "glovebox completion",
      .usage = "bash|zsh|fish",
      .description =
          "Print a shell script that completes commands, options, and the ids and names of live "
          "sandboxes. `make install` installs all three.",
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
    std::fputs(kZsh, stdout);
  } else if (shell == "fish") {
    std::fputs(kFish, stdout);
  } else {
    return usage_error("the shell must be bash, zsh or fish (see `glovebox completion --help`)");
  }
  return 0;
}

}  // namespace glovebox::cli
