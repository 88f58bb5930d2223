#!/usr/bin/env bash
# What napkin emits, read by parsers of others: bash, and Python's json, tomllib, ast and (where it is installed) yaml.
#   emit_syntax.sh NAPKIN
# Parsers that are absent are named; without any it is skipped.
set -euo pipefail
napkin=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"
emit() { "$napkin" emit --framework "$1" --hw h100 -o "$2" "${@:3}" 2>err || { cat err; exit 1; }; }
emit megatron-lm a.sh --model deepseek-v3 --gpus 2048 --batch 8192 --tp 2 --pp 16 --ep 32 --etp 1 --zero 1
emit megatron-bridge b.py --model mixtral-8x7b --gpus 64 --batch 256 --tp 2 --pp 4 --vpp 4 --ep 4 --etp 1 --zero 1
emit torchtitan c.toml --model llama3.1-405b --gpus 512 --batch 512 --tp 8 --pp 8 --zero 3
emit torchtitan-recipe d.py --model llama3-70b --gpus 256 --batch 256 --tp 8 --pp 4 --vpp 2 --zero 3
emit nanotron e.yaml --model llama3-8b --gpus 64 --batch 256 --tp 4 --zero 1
emit deepspeed f.json --model llama2-70b --gpus 256 --batch 1024 --zero 3
emit maxtext g.yml --model llama3-8b --gpus 64 --batch 256 --zero 3
emit picotron h.json --model tinyllama-1.1b --gpus 16 --batch 128 --tp 2 --no-sp --zero 0
bash -n a.sh
bash -n launch.sh
bash -c 'torchrun() { printf "%s\n" "$@"; }; NODE_RANK=0 MASTER_ADDR=m MASTER_PORT=1; . ./a.sh' >words
grep -qx -- '--pipeline-model-parallel-layout' words
grep -qx -- '(\[0\]\*3+\[1\]\*58)' words
if ! command -v python3 >/dev/null || ! python3 -c '' 2>/dev/null; then
  echo "skipped: no python3 for the other formats"
  exit 0
fi
python3 - <<'PY'
import ast, json
absent = []
for name in ("b.py", "d.py"):
    ast.parse(open(name).read())
f, h = json.load(open("f.json")), json.load(open("h.json"))
assert f["train_batch_size"] == 1024 and f["zero_optimization"]["stage"] == 3, f
assert h["distributed"] == {"tp_size": 2, "cp_size": 1, "pp_size": 1, "dp_size": 8, "pp_engine": "1f1b", "backend": "nccl", "use_cpu": False}, h
try:
    import tomllib
    c = tomllib.load(open("c.toml", "rb"))
    parts = c["parallelism"]["module_fqns_per_model_part"]
    assert len(parts) == 8 and sum(m.startswith("layers.") for p in parts for m in p) == 126, parts
    assert c["model"] == {"name": "llama3", "flavor": "405B", "converters": []}, c["model"]
except ImportError:
    absent.append("tomllib")
try:
    import yaml
    e, g = yaml.safe_load(open("e.yaml")), yaml.safe_load(open("g.yml"))
    assert e["parallelism"]["tp"] == 4 and e["parallelism"]["pp_engine"] == "1f1b", e
    assert e["model"]["model_config"]["rms_norm_eps"] == 1e-5 and e["model"]["model_config"]["pad_token_id"] is None, e
    assert e["data_stages"][0]["data"] == {"dataset": None, "num_loading_workers": 1, "seed": 42}, e
    assert g["ici_fsdp_parallelism"] * g["dcn_fsdp_parallelism"] == 64 and g["remat_policy"] == "none" and g["quantization"] == "", g
except ImportError:
    absent.append("yaml")
print("parsed by others" + (", without " + " and ".join(absent) if absent else ""))
PY
