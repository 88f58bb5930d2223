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
# The code below folders as FILE:LINE:TEXT with // comments removed.
without_comments() { code "$@" | xargs awk '{sub(/(^|[^:])\/\/.*/, ""); print FILENAME ":" FNR ":" $0}'; }

# model/ and hardware/ read no files, print nothing, know no JSON and start no threads, except *_input.cpp.
io() {
  local found
  found=$(without_comments model hardware | grep -vE '^[^:]*_input\.cpp:' | grep -E \
    '#include *[<"](nlohmann|CLI|fstream|iostream|ostream|cstdio|stdio|filesystem|thread|mutex|future|atomic|unistd)|(^|[^a-z_])(printf|fprintf|fopen|system)\(|std::(cout|cerr|clog|[io]?fstream|filesystem)|fmt::print' || true)
  [[ -z $found ]] || fail "input, output, JSON or threads outside *_input.cpp:"$'\n'"$found"
}

# Every bibliography key that the code or docs/model.md cites is in docs/references.bib.
keys() {
  local missing='' key
  while IFS= read -r key; do
    grep -qE "^@[a-z]+\{$key,$" docs/references.bib || missing+="$key: $(grep -rlw -- "$key" model hardware cli docs/model.md | tr '\n' ' ')"$'\n'
  done < <({ code model hardware cli; echo docs/model.md; } | xargs sed -E 's#https?://[^ ")]*##g' |
    grep -oE '(^|[^A-Za-z0-9_./-])[a-z][a-z-]+(19|20)[0-9]{2}[a-z0-9]*' | grep -oE '[a-z][a-z-]+(19|20)[0-9]{2}[a-z0-9]*' | sort -u)
  local twice
  twice=$(grep -oE '^@[a-z]+\{[^,]+' docs/references.bib | sed 's/.*{//' | sort | uniq -d)
  [[ -z $twice ]] || fail "twice in docs/references.bib: $twice"
  [[ -z $missing ]] || fail "cited, but not in docs/references.bib:"$'\n'"$missing"
}

# What differs between frameworks and machines is data: no such name in a condition.
names() {
  local found
  local list='megatron|torchtitan|nanotron|maxtext|deepspeed|nemo|pytorch|colossalai|axlearn|vllm|sglang|tensorrt'
  list+='|v100|a100|a800|h20|h100|h200|h800|b200|b300|gh200|gb200|gb300|l40s?|rtx|mi250x?|mi300x?|mi325x?|mi355x?|tpu|trainium|gaudi'
  list+='|nvidia|amd|ampere|hopper|blackwell'
  found=$(without_comments model hardware cli |
    grep -E ':.*((^|[^a-z_])(if|switch|case|while)([^a-z_]|$)|==|!=|\?|contains\(|starts_with\()' |
    grep -iE ":[0-9]+:.*(^|[^a-z0-9])($list)([^a-z]|\$)" | grep -v '#include' || true)
  [[ -z $found ]] || fail "a framework's or machine's name in a condition:"$'\n'"$found"
}

# Includes go down only; rooms of one floor do not know each other.
direction() {
  local found
  found=$(code model hardware cli | xargs grep -nE '^ *#include "' | awk '
    BEGIN {
      split("model model/input hardware,model/frameworks model/transformer " \
            "model/kernel,model/collective,model/pipeline,model/memory model/step model/search,model/reliability,model/serving model/run,model/decision model/launch " \
            "calibrate model/validation cli", floors, " ")
      for (i in floors) {
        n = split(floors[i], rooms, ",")
        for (k = 1; k <= n; ++k) floor[rooms[k]] = i + 0
      }
    }
    function room_of(path) {
      do sub(/\/?[^\/]*$/, "", path); while (path != "" && !(path in floor))
      return path
    }
    {
      file = substr($0, 1, index($0, ":") - 1)
      split($0, quoted, "\"")
      from = room_of(file)
      to = room_of(quoted[2])
      folder = file
      sub(/\/[^\/]*$/, "", folder)
      if (from == "model" && folder != "model") print $0 "   (which floor is " folder " on? tests/house/house.sh)"
      else if (to == "" || (to != from && floor[to] >= floor[from])) print
    }')
  [[ -z $found ]] || fail "an include goes up or across:"$'\n'"$found"
}

case $rule in
  io | keys | names | direction) "$rule" ;;
  *) fail "house.sh: unknown rule $rule" ;;
esac
