# /// script
# requires-python = ">=3.11"
# dependencies = ["wallsite"]
# ///
"""When do more GPUs make a training step slower? T(N) = C/N + 2(N-1)/N S/beta + 2(N-1) alpha.

The first term shrinks with N, the second soon stands still at 2S/beta, the third grows with N.
Nothing is overlapped here: it is the plainest case, not a forecast.
"""

from wallsite import collectives, tables, workload
from wallsite.units import format_number

PARAMS, TOKENS, MFU = 7e9, 1e6, 0.4  # one step of a 7B model on a global batch of 1M tokens
SIZE = 2 * PARAMS  # bytes of its gradients in bf16
ALPHA = 5e-6  # latency of one message, s

beta = tables.link("ib-ndr").bandwidth.si  # one direction, byte/s
peak = tables.accelerator("h100-sxm").peak("bf16").si
compute = workload.training_time(workload.training_flops(PARAMS, TOKENS), peak, MFU)

print(f"C = {compute:.1f} s   2S/beta = {2 * SIZE / beta:.2f} s   alpha = {ALPHA * 1e6:.0f} us")
print("    N   compute s   bytes s   latency s    step s   efficiency")
for ranks in (1, 8, 64, 256, 1024, 2048, 4096, 16384):
    carried = collectives.ring_all_reduce(SIZE, ranks, beta)
    waited = collectives.ring_all_reduce(SIZE, ranks, beta, ALPHA) - carried
    step = collectives.step_time(compute, SIZE, ranks, beta, ALPHA)
    efficiency = collectives.strong_scaling_efficiency(compute, step, ranks)
    print(
        f"{ranks:5}  {compute / ranks:10.3f}  {carried:8.3f}  {waited:10.3f}  {step:8.3f}"
        f"  {efficiency:11.1%}"
    )

best = collectives.turning_point(compute, SIZE, beta, ALPHA)
print(f"The step is fastest at N* = {format_number(best)}; from there on each GPU slows it down.")
never = collectives.turning_point(compute, SIZE, beta, 0)
print(f"With alpha = 0, N* = {never}: bandwidth alone never turns the curve up.")
