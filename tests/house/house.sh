#!/usr/bin/env bash
# The rules of the house that a compiler does not check.
#   house.sh RULE SOURCE_DIR      RULE: io | keys | names | direction
# Prints every offending line and exits 1 when there is one.
set -euo pipefail
rule=$1
cd "$2"

fail() {
  echo "$1" >&2
  exit 1
}
code() { find "$@" -name '*.cpp' -o -name '*.hpp' | sort; }
# A file's lines as FILE:LINE:TEXT with // comments removed.
without_comments() { sed -E 's#(^|[^:])//.*#\1#' "$1" | awk -v file="$1" '{print file ":" NR ":" $0}'; }

# model/ and hardware/ read no files, print nothing, know no JSON and start no threads, except *_input.cpp.
io() {
  local found=''
  while IFS= read -r file; do
    [[ $file == *_input.cpp ]] && continue
    found+=$(without_comments "$file" | grep -E \
      '#include *[<"](nlohmann|CLI|fstream|iostream|ostream|cstdio|stdio|filesystem|thread|mutex|future|atomic|unistd)|(^|[^a-z_])(printf|fprintf|fopen|system)\(|std::(cout|cerr|clog|[io]?fstream|filesystem)|fmt::print' || true)
  done < <(code model hardware)
  [[ -z $found ]] || fail "input, output, JSON or threads outside *_input.cpp:"$'\n'"$found"
}

# Every bibliography key that the code cites is in docs/references.bib.
keys() {
  local missing='' key
  while IFS= read -r key; do
    grep -qE "^@[a-z]+\{$key,$" docs/references.bib || missing+="$key: $(grep -rlw -- "$key" model hardware cli | tr '\n' ' ')"$'\n'
  done < <(code model hardware cli | xargs sed -E 's#https?://[^ ")]*##g' |
    grep -oE '(^|[^A-Za-z0-9_./-])[a-z][a-z-]+(19|20)[0-9]{2}[a-z0-9]*' | grep -oE '[a-z][a-z-]+(19|20)[0-9]{2}[a-z0-9]*' | sort -u)
  [[ -z $missing ]] || fail "cited, but not in docs/references.bib:"$'\n'"$missing"
}

# What differs between frameworks and machines is data: no such name in a condition.
names() {
  local found='' file
  local list='megatron|torchtitan|nanotron|maxtext|deepspeed|nemo|pytorch|colossalai|axlearn|vllm|sglang|tensorrt'
  list+='|v100|a100|a800|h20|h100|h200|h800|b200|b300|gh200|gb200|gb300|l40s?|rtx|mi250x?|mi300x?|mi325x?|mi355x?|tpu|trainium|gaudi'
  list+='|nvidia|amd|ampere|hopper|blackwell'
  while IFS= read -r file; do
    found+=$(without_comments "$file" | grep -E '(^|[^a-z_])(if|switch|case|while)([^a-z_]|$)|==|!=|\?|contains\(|starts_with\(' |
      grep -iE "(^|[^a-z0-9])($list)([^a-z]|\$)" | grep -v '#include' || true)
  done < <(code model hardware cli)
  [[ -z $found ]] || fail "a framework's or machine's name in a condition:"$'\n'"$found"
}

# Includes go down only; rooms of one floor do not know each other. Kernel and collective own the shapes they price;
# transformer's operators are made of them.
direction() {
  local -A floor=([model]=0 [model/input]=1 [hardware]=2 [model/frameworks]=3 [model/kernel]=4 [model/collective]=4
    [model/pipeline]=4 [model/transformer]=5 [model/memory]=6 [model/step]=7 [model/search]=8 [model/reliability]=8
    [model/serving]=8 [calibrate]=9 [cli]=10)
  local found='' line file room target
  room_of() {
    local path=${1%/*}
    while [[ -z ${floor[$path]:-} && $path == */* ]]; do path=${path%/*}; done
    echo "$path"
  }
  while IFS= read -r line; do
    file=${line%%:*}
    room=$(room_of "$file")
    target=$(room_of "$(sed -E 's/.*#include "([^"]+)".*/\1/' <<<"$line")")
    [[ -n ${floor[$room]:-} ]] || fail "$file: the room $room has no floor in tests/house/house.sh"
    [[ $target == "$room" || (-n ${floor[$target]:-} && ${floor[$target]} -lt ${floor[$room]}) ]] || found+="$line"$'\n'
  done < <(code model hardware cli | xargs grep -nE '^ *#include "')
  [[ -z $found ]] || fail "an include goes up or across:"$'\n'"$found"
}

case $rule in
  io | keys | names | direction) "$rule" ;;
  *) fail "house.sh: unknown rule $rule" ;;
esac
