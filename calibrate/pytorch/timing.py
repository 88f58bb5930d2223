"""Device time of a call and host time of a call, each the median of several samples."""

import statistics
import time

import torch


def device_time(call, least=0.02, samples=7):
    """Seconds of one `call` on the device, the host's own time hidden.

    The stream is held busy while the host queues the calls, so that the kernels stand back to back between the two events.
    """
    call()
    torch.cuda.synchronize()
    started = time.perf_counter()
    call()
    torch.cuda.synchronize()
    once = time.perf_counter() - started
    count = max(2, min(50, int(least / once)))
    times = []
    for _ in range(samples):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda._sleep(int(min(once * count, 0.05) * 1.5e9))
        first.record()
        for _ in range(count):
            call()
        last.record()
        torch.cuda.synchronize()
        times.append(first.elapsed_time(last) / 1e3 / count)
    return summary(times, count)


def wall_time(call, count=1, samples=9):
    """Seconds of one `call` by the host's clock, the device idle before and after."""
    call()
    times = []
    for _ in range(samples):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - started) / count)
    return summary(times, count)


def host_time(call, count=100, samples=9):
    """Seconds that the host takes to issue one `call`, the device held busy behind it."""
    call()
    times = []
    for _ in range(samples):
        torch.cuda.synchronize()
        torch.cuda._sleep(200_000_000)
        started = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - started) / count)
    torch.cuda.synchronize()
    return summary(times, count)


def summary(times, count):
    """The members that a measured row carries."""
    times = sorted(times)
    return {"t_s": statistics.median(times), "t_min": times[0], "t_p90": times[int(0.9 * (len(times) - 1))], "iters": count * len(times)}
