# A code context in bash: cells come on descriptor 4, one after the other, and share this shell.
#
#   bash context.sh       cells and answers as in src/wire/cell.h
#
# A cell is sourced at the top level, so that `declare` means what it does in a console and `return`
# ends the cell. There is no loop around it that its `break` could leave: mapfile calls us for every
# byte of /dev/zero. SIGINT ends the whole cell, not just the command that runs; with `set -e` so
# does a command that fails. Both by a DEBUG trap that makes every level return. `exit` ends the
# context. NUL bytes are no text to a shell: they are left out.

__gbx_quote() {  # text as a JSON string, in __gbx_quoted
  local LC_ALL=C text=$1 character code at out=
  text=${text//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\n'/\\n}
  text=${text//$'\t'/\\t}
  text=${text//$'\r'/\\r}
  if [[ $text == *[$'\001'-$'\037'$'\177'-$'\377']* ]]; then
    for ((at = 0; at < ${#text}; ++at)); do
      character=${text:at:1}
      if [[ $character == [$'\001'-$'\037'$'\177'-$'\377'] ]]; then character='?'; fi
      out+=$character
    done
    text=$out
  fi
  __gbx_quoted="\"$text\""
}

__gbx_say() { builtin printf '%s\n' "$1" >&253; } 2>/dev/null

__gbx_fail() {  # name, message
  builtin printf '%s: %s\n' "$1" "$2" >&2
  __gbx_quote "$2"
  __gbx_say "{\"type\":\"error\",\"name\":\"$1\",\"message\":$__gbx_quoted,\"traceback\":[],\"line\":null}"
}

__gbx_number() {  # so many bytes, little-endian, to __gbx_value; false at the end
  local LC_ALL=C byte code at
  __gbx_value=0
  for ((at = 0; at < $1; ++at)); do
    IFS= builtin read -r -d '' -n 1 -u 252 byte || return 1
    if [[ -n $byte ]]; then
      builtin printf -v code %d "'$byte"
      ((__gbx_value |= (code & 255) << (8 * at), 1))
    fi
  done
}

__gbx_text() {  # a text, to __gbx_value, without its NUL bytes; false at the end
  local LC_ALL=C size part
  __gbx_number 4 || return 1
  size=$__gbx_value
  __gbx_value=
  if ((size > 65536)); then  # bash reads a pipe byte by byte
    { __gbx_value=$(command -p head -c "$size" <&252); } 2>/dev/null
    return
  fi
  while ((size > 0)); do
    IFS= builtin read -r -d '' -n "$size" -u 252 part || return 1
    __gbx_value+=$part
    ((size -= ${#part} < size ? ${#part} + 1 : size))
  done
  return 0
}

__gbx_enter() {  # the first record: a job
  local LC_ALL=C count magic
  __gbx_number 4 || builtin exit 0
  IFS= builtin read -r -d '' -N 8 -u 252 magic && [[ $magic == $'GBXJOB1\n' ]] || builtin exit 125
  __gbx_number 4 || builtin exit 0
  count=$__gbx_value
  while ((count-- > 0)); do
    __gbx_text || builtin exit 0
    if [[ ${__gbx_value%%=*} =~ ^[A-Za-z_][A-Za-z0-9_]*$ && ${__gbx_value%%=*} != @(LC_ALL|BASH*|SHELLOPTS|UID|EUID|PPID) ]]; then
      builtin declare -gx "$__gbx_value" 2>/dev/null
    elif [[ $__gbx_value == LC_ALL=* ]]; then
      __gbx_locale=${__gbx_value#*=}
    fi
  done
  __gbx_number 4 || builtin exit 0
  count=$__gbx_value
  __gbx_args=()
  while ((count-- > 0)); do
    __gbx_text || builtin exit 0
    __gbx_args+=("$__gbx_value")
  done
  __gbx_text || builtin exit 0
  __gbx_home=$__gbx_value
  __gbx_text && __gbx_text || builtin exit 0
}

__gbx_next() {  # waits for a cell; its code goes to __gbx_code
  local __gbx_flags
  __gbx_number 4 && __gbx_number 8 || builtin exit 0
  __gbx_cell=$__gbx_value
  __gbx_number 1 || builtin exit 0
  __gbx_flags=$__gbx_value
  __gbx_text || builtin exit 0
  BASH_ARGV0=${__gbx_value:-bash}
  __gbx_take_stdin "$((__gbx_flags & 1))"
  __gbx_text || builtin exit 0
  __gbx_code=$__gbx_value
  __gbx_value=
  ((__gbx_flags & 2)) && __gbx_put_environment
  __gbx_stopped=
  __gbx_traps
}

__gbx_put_environment() {  # for one cell; what was there before goes to __gbx_before
  local __gbx_left __gbx_name
  __gbx_number 4 || builtin exit 0
  __gbx_left=$__gbx_value
  while ((__gbx_left-- > 0)); do
    __gbx_text || builtin exit 0
    __gbx_name=${__gbx_value%%=*}
    [[ $__gbx_name =~ ^[A-Za-z_][A-Za-z0-9_]*$ && $__gbx_name != @(__gbx*|BASH*|SHELLOPTS|UID|EUID|PPID) ]] || continue
    __gbx_before+=("$__gbx_name" "$(builtin declare -p "$__gbx_name" 2>/dev/null)")
    { builtin unset "$__gbx_name" && builtin declare -gx "$__gbx_value"; } 2>/dev/null
  done
  __gbx_value=
}

__gbx_restore_environment() {
  local __gbx_at
  for ((__gbx_at = ${#__gbx_before[@]} - 2; __gbx_at >= 0; __gbx_at -= 2)); do
    builtin unset "${__gbx_before[__gbx_at]}"
    [[ -z ${__gbx_before[__gbx_at + 1]} ]] || builtin eval "declare -g ${__gbx_before[__gbx_at + 1]#declare }"
  done 2>/dev/null
  __gbx_before=()
}

__gbx_take_stdin() {  # the given stdin becomes descriptor 251; it may have any bytes
  local size file=
  __gbx_number 4 || builtin exit 0
  size=$__gbx_value
  if (($1 == 0)); then
    exec 251</dev/null
    return
  fi
  file=$(umask 077; command -p mktemp 2>/dev/null || TMPDIR=/dev/shm command -p mktemp 2>/dev/null)
  command -p head -c "$size" <&252 >"${file:-/dev/null}" 252<&- 253>&-
  exec 251<"${file:-/dev/null}"
  [[ -n $file ]] && command -p rm -f -- "$file"
}

__gbx_traps() {
  builtin trap '__gbx_interrupted' INT
  builtin trap '__gbx_failed "$?"' ERR
  builtin set -E
}

__gbx_interrupted() { __gbx_stop 130 interrupted; }

__gbx_failed() {  # errexit is looked at after this, so it can be taken back
  [[ $- == *e* && $BASH_SUBSHELL == 0 ]] || return "$1"
  __gbx_stop "$1" errexit
  return "$1"
}

__gbx_stop() {
  [[ -n $__gbx_stopped || $BASH_SUBSHELL != 0 || -z $__gbx_cell ]] && return
  __gbx_status=$1
  __gbx_stopped=$2
  __gbx_keep_errexit
  builtin shopt -s extdebug
  builtin set -T
  builtin trap '__gbx_return' DEBUG
}

__gbx_keep_errexit() {  # for the next cell: what we do ourselves may fail
  [[ $- == *e* ]] && __gbx_errexit=1
  builtin set +e
}

__gbx_return() {  # 2: bash returns from the function or the cell that it is in
  [[ $BASH_COMMAND == '__gbx_after '* ]] || return 2
  builtin trap - DEBUG
  builtin shopt -u extdebug
  builtin set +T
}

__gbx_after() {
  __gbx_keep_errexit
  [[ -n $__gbx_stopped ]] || __gbx_status=$1
  [[ $__gbx_stopped == interrupted ]] && __gbx_fail KeyboardInterrupt "the cell was interrupted"
  local number=$__gbx_cell
  __gbx_cell=
  builtin trap : INT
  ((${#__gbx_before[@]})) && __gbx_restore_environment
  __gbx_say "{\"type\":\"end\",\"cell\":$number,\"exit_code\":$((__gbx_status & 255))}"
}

__gbx_begin() {
  __gbx_next
  if [[ -n ${__gbx_errexit-} ]]; then __gbx_errexit=; builtin set -e; fi
}

__gbx_before=()
trap : INT
exec 253>&3 3>&- 252<&4 4<&- 251</dev/null 0</dev/null
for __gbx_value in $(compgen -e); do unset "$__gbx_value" 2>/dev/null; done
__gbx_enter
if [[ -n ${__gbx_locale-} ]]; then export LC_ALL=$__gbx_locale; fi
if ! cd -- "$__gbx_home"; then
  __gbx_fail OSError "glovebox: cannot enter the working directory"
  __gbx_say '{"type":"exit","code":1}'
  exit 1
fi
set -- "${__gbx_args[@]}"
unset __gbx_home __gbx_args __gbx_locale OLDPWD
shopt -s expand_aliases
trap '__gbx_say "{\"type\":\"exit\",\"code\":$(($? & 255))}"' EXIT
__gbx_say '{"type":"ready"}'
mapfile -d '' -c 1 -C '__gbx_begin; source "${BASH_SOURCE%/*}/cell" <&251 251<&- 252<&- 253>&-; __gbx_after "$?" #' __gbx_value </dev/zero
