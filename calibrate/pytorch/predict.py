"""napkin's prediction of every record of a plan, to be committed before the plan is run.

    python3 predict.py NAPKIN planned.jsonl > predicted.jsonl
"""

import json
import subprocess
import sys
import tempfile

from shape import read_rows

GIB = 2.0**30


def predicted(napkin, record):
    """The figures of one record that a run will measure."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(record, file)
        file.flush()
        done = subprocess.run([napkin, "predict", file.name, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode > 1 or not done.stdout:
        return {"id": record["id"], "refused": done.stderr.strip().splitlines()[0].split(": ", 1)[-1]}
    answer = json.loads(done.stdout)
    memory = answer["memory"]
    stages = [stage["allocated_bytes"] / GIB for stage in memory["stages"]]
    return {"id": record["id"], "step_time_s": answer["step_time_s"], "alloc_gib": memory["allocated_bytes"] / GIB,
            "reserved_gib": memory["reserved_bytes"] / GIB, "alloc_by_stage_gib": stages}


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: predict.py NAPKIN planned.jsonl > predicted.jsonl")
    for record in read_rows(sys.argv[2]):
        print(json.dumps(predicted(sys.argv[1], record)))


if __name__ == "__main__":
    main()
