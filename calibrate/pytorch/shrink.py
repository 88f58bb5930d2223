"""A record made small, its layout kept: what a rehearsal on CPUs runs."""

import copy


def shrink(record):
    """The same layout on a model of a few million parameters.

    >>> shrink({"model": {"layers": 61, "heads": 64, "kv_heads": 8, "vocab": 1000}, "layout": {"pp": 4}, "seq_len": 4096})["model"]["layers"]
    8
    """
    small = copy.deepcopy(record)
    model, layout = small["model"], small["layout"]
    model["layers"] = max(2, 2 * layout.get("pp", 1))
    model["head_dim"] = 16
    model["heads"], model["kv_heads"] = min(model["heads"], 16), min(model["kv_heads"], 8)
    model["hidden"] = model["heads"] * 16
    model["vocab"] = 512
    if model.get("moe"):
        model["moe"]["ffn"] = 64
    else:
        model["ffn"] = 512
    small["seq_len"] = 128
    return small
