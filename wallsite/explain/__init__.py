"""Is my number normal? Bound, share, wall, causes, and what to do next, for something measured.

Describe the machine, and what was measured on it; each function gives an `Explanation`::

    from wallsite import explain

    a_4090 = explain.machine("rtx-4090")
    model = explain.model_run(stored=4.68e9)
    found = explain.decode(explain.Decode(model, batch=1, tokens_per_second=171.5), a_4090)
    print(f"{found.share:.0%} of the bound: {found.wall}")

``wallsite explain`` does the same in a terminal, and reads what tools print (`wallsite.readers`).
"""

from wallsite.explain.answer import Bound, Cause, Explanation
from wallsite.explain.collective import Collective, collective
from wallsite.explain.compute import Prefill, Training, prefill, training
from wallsite.explain.counters import counters
from wallsite.explain.decode import Decode, decode
from wallsite.explain.kernel import Kernel, kernel
from wallsite.explain.machine import Machine, machine
from wallsite.explain.model import ModelRun, model_run
from wallsite.explain.rate import Rate, Transfer, link_rate, rate, transfer

__all__ = [
    "Bound",
    "Cause",
    "Collective",
    "Decode",
    "Explanation",
    "Kernel",
    "Machine",
    "ModelRun",
    "Prefill",
    "Rate",
    "Training",
    "Transfer",
    "collective",
    "counters",
    "decode",
    "kernel",
    "link_rate",
    "machine",
    "model_run",
    "prefill",
    "rate",
    "training",
    "transfer",
]
