"""Runs beside the predictions that were written before them.

    python3 compare.py predicted.jsonl runs.jsonl
"""

import statistics
import sys

from shape import read_rows

FIGURES = ("step_time_s", "alloc_gib")


def errors(predictions, runs):
    """(id, figure, measured, predicted, error) of every figure that both have; error = predicted / measured − 1.

    >>> errors([{"id": "a", "step_time_s": 3.0}], [{"id": "a", "measured": {"oom": False, "step_time_s": 2.0}}])
    [('a', 'step_time_s', 2.0, 3.0, 0.5)]
    """
    known = {p["id"]: p for p in predictions}
    out = []
    for run in runs:
        guess = known.get(run["id"], {})
        for figure in FIGURES:
            measured = run["measured"].get(figure)
            if measured and figure in guess:
                out.append((run["id"], figure, measured, guess[figure], guess[figure] / measured - 1))
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: compare.py predicted.jsonl runs.jsonl")
    found = errors(read_rows(sys.argv[1]), read_rows(sys.argv[2]))
    for figure in FIGURES:
        rows = sorted((row for row in found if row[1] == figure), key=lambda row: -abs(row[4]))
        for name, _, measured, predicted, error in rows:
            print(f"{name:48} {figure:12} {measured:10.4f} {predicted:10.4f} {100 * error:+7.1f} %")
        if rows:
            print(f"{len(rows)} rows of {figure}: median {100 * statistics.median(abs(row[4]) for row in rows):.1f} %\n")


if __name__ == "__main__":
    main()
