"""What tools print, as people paste it: every variant read, every damaged row refused."""

import csv
import io
import json
import random
import re

import pytest

from wallsite import explain, readers
from wallsite.explain import reported
from wallsite.topology import Topology

NCCL = """\
# nThread 1 nGpus 1 minBytes 67108864 maxBytes 134217728 step: 2(factor)
# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid  11 on   node1 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  11 on   node1 device  1 [0x2b] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
    67108864      16777216     float     sum      -1    350.0  191.74  191.74      0    349.1  192.23  192.23      0
   134217728      33554432     float     sum      -1    650.0  206.49  206.49      0    648.2  207.06  207.06      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 199.380
"""
OLD_NCCL = """\
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
    67108864      16777216   float     sum    700.0   95.87  167.77  1e-06    698.2   96.12  168.20  1e-06
"""
NVBANDWIDTH = {
    "nvbandwidth": {
        "version": "v0.8",
        "GPU Device list": ["0: NVIDIA H100 80GB HBM3 (00000000:1b:00)"],
        "testcases": [
            {
                "name": "host_to_device_memcpy_ce",
                "status": "Passed",
                "bandwidth_matrix": [["55.1", "54.9"]],
                "sum": 110.0,
            },
            {
                "name": "device_local_copy",
                "status": "Passed",
                "bandwidth_matrix": [["1400.5", "N/A"]],
            },
            {"name": "device_to_device_memcpy_read_ce", "status": "Waived"},
        ],
    }
}
NVBANDWIDTH_TEXT = """\
nvbandwidth Version: v0.8
Device 0: NVIDIA A100-SXM4-80GB (00000000:07:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     25.10     24.90

SUM host_to_device_memcpy_ce 50.00

Running device_to_device_memcpy_read_ce.
WAIVED
"""
STREAM = """\
STREAM version $Revision: 5.10 $
This system uses 8 bytes per array element.
Array size = 100000000 (elements), Offset = 0 (elements)
Number of Threads requested = 16
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           80000.0     0.020100     0.020000     0.020300
Triad:          81000.0     0.029700     0.029630     0.029800
"""
BABEL = """\
BabelStream
Version: 5.0
Running kernels 100 times
Using CUDA device NVIDIA A100-SXM4-80GB
Function    MBytes/sec  Min (sec)   Max         Average
Copy        1750000.0   0.00031     0.00033     0.00032
Dot         1800000.0   0.00030     0.00032     0.00031
"""
TOPOLOGY = """\
\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\t0-31\t0\t\tN/A
GPU1\tNV18\t X \tSYS\t0-31\t0\t\tN/A
NIC0\tPIX\tSYS\t X \t\t\t\t
NIC Legend:

  NIC0: mlx5_0
"""
DCGMI = """\
#Entity   SMACT        TENSO        DRAMA
ID
GPU 0     0.941        0.112        0.853
GPU 0     N/A          N/A          N/A
GPU 0     0.943        0.114        0.855
#Entity   SMACT        TENSO        DRAMA
ID
GPU 1     0.100        0.010        0.050
"""
PROMETHEUS = """\
# HELP DCGM_FI_PROF_DRAM_ACTIVE Ratio of cycles
# TYPE DCGM_FI_PROF_DRAM_ACTIVE gauge
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",UUID="GPU-1",Hostname="h"} 0.85
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-1",Hostname="h"} 0.94
DCGM_FI_DEV_GPU_UTIL{gpu="0"} 99
"""
LLAMA = """\
| model                          |       size |     params | backend    | ngl |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | --------------: | -------------------: |
| demo 8B Q4_K - Medium          |   4.58 GiB |     8.03 B | CUDA       |  99 |           pp512 |      4000.00 ± 10.00 |
| demo 8B Q4_K - Medium          |   4.58 GiB |     8.03 B | CUDA       |  99 |   tg128 @ d4096 |        88.10 ± 0.40 |

build: abc (1)
"""
LLAMA_ENTRY = {
    "model_type": "demo 8B Q4_K",
    "model_size": 4917737553,
    "model_n_params": 8030000000,
    "n_prompt": 0,
    "n_gen": 128,
    "n_depth": 0,
    "avg_ts": 88.1,
    "avg_ns": int(128 / 88.1 * 1e9),
    "gpu_info": "NVIDIA GeForce RTX 4090",
}
SERVING = {
    "max_concurrency": 64,
    "duration": 60.0,
    "completed": 100,
    "failed": 0,
    "total_input_tokens": 100000,
    "total_output_tokens": 50000,
    "output_throughput": 833.3,
    "mean_ttft_ms": 210.0,
    "median_tpot_ms": 9.1,
    "generated_texts": ["secret"],
}
NCU = """\
==PROF== Connected to process 1
"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
"0","1","python","h","demo_gemm","","1","7","Command line","dram__bytes.sum","Mbyte","132.40"
"0","1","python","h","demo_gemm","","1","7","Command line","gpu__time_duration.sum","usecond","1,100.00"
"0","1","python","h","demo_gemm","","1","7","Command line","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","inst","5,000,000"
"""
NCU_COMMA = (
    NCU.replace("132.40", "132,40")
    .replace("1,100.00", "1.100,00")
    .replace("5,000,000", "5.000.000")
)
NCU_WIDE = """\
"ID","Process ID","Kernel Name","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum"
"","","","Mbyte","Kbyte","ns"
"0","1","demo_gemm","100.00","32,400.00","1,100,000.00"
"""
HCCL = """\
all_reduce_test
data_size(Bytes):     | aveg_time(us):      | alg_bandwidth(GB/s): | check_result:
67108864              | 700.00              | 95.86981             | success
"""
PERFTEST = """\
                    RDMA_Write BW Test
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             385.10             384.90               0.734
"""
EVERY = {
    "nccl-tests": NCCL,
    "nccl-tests of 2019": OLD_NCCL,
    "nccl-tests -J": json.dumps(
        {
            "version": 3,
            "nccl_version": 22703,
            "args": ["all_reduce_perf", "-J", "x"],
            "env": ["HF_TOKEN=hf_verysecret"],
            "nranks": 8,
            "results": [
                {
                    "size": 67108864,
                    "count": 16777216,
                    "type": "float",
                    "redop": "sum",
                    "root": -1,
                    "out_of_place": {"time": 700.0, "alg_bw": 95.87, "bus_bw": 167.77, "nwrong": 0},
                }
            ],
        }
    ),
    "nvbandwidth": NVBANDWIDTH_TEXT,
    "nvbandwidth -j": json.dumps(NVBANDWIDTH),
    "STREAM": STREAM,
    "BabelStream": BABEL,
    "topo": TOPOLOGY,
    "dcgmi": DCGMI,
    "Prometheus": PROMETHEUS,
    "llama-bench": LLAMA,
    "llama-bench json": json.dumps([LLAMA_ENTRY]),
    "llama-bench jsonl": json.dumps(LLAMA_ENTRY) + "\n" + json.dumps(LLAMA_ENTRY) + "\n",
    "serving": json.dumps(SERVING),
    "Nsight Compute": NCU,
    "Nsight Compute, wide": NCU_WIDE,
    "hccl_test": HCCL,
    "perftest": PERFTEST,
}


def read(text):
    return readers.read(text.encode())


def only(text):
    (row,) = read(text).rows
    return row


@pytest.mark.parametrize("name", EVERY)
def test_every_sample_is_read_whole(name):
    found = read(EVERY[name])
    assert found.rows
    assert not [
        reason for reason in found.refused if "Waived" not in reason and "waived" not in reason
    ]


# --- nccl-tests and its kin -------------------------------------------------------------------------


def test_nccl_says_how_many_ran_where_and_on_what():
    first, second = read(NCCL).rows
    assert (first.operation, first.ranks, first.nodes) == ("all-reduce", 2, 1)
    assert first.device == "NVIDIA H100 80GB HBM3"
    assert (second.size, second.seconds, second.busbw) == (134217728, 650e-6, 206.49e9)


def test_a_piece_without_its_head_still_tells_its_ranks():
    # busbw ÷ algbw = 1.75 = 2 · 7/8
    assert only(OLD_NCCL).ranks == 8
    assert only(EVERY["nccl-tests -J"]).ranks == 8


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "206.49  206.49      0    648.2",
            "106.49  206.49      0    648.2",
            "algbw 106.49 GB/s is not size",
        ),
        (
            "206.49  206.49      0    648.2",
            "206.49  506.49      0    648.2",
            "more than twice algbw",
        ),
        (
            "206.49  206.49      0    648.2",
            "206.49  206.49      7    648.2",
            "results were wrong (7)",
        ),
        ("650.0  206.49  206.49      0", "650.0  NCCL INFO 206.49", "cut off or glued"),
    ],
)
def test_a_row_that_disagrees_with_itself_is_refused(old, new, reason):
    found = read(NCCL.replace(old, new))
    assert len(found.rows) == 1
    assert reason in found.refused[0]


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>: ", "node1: ", "2026-01-02 03:04:05 [rank0]: "])
def test_log_prefixes_do_not_hide_rows(prefix):
    assert len(read("\n".join(prefix + line for line in NCCL.splitlines())).rows) == 2


def test_colours_and_other_encodings_do_not_matter():
    coloured = NCCL.replace("206.49", "\x1b[32m206.49\x1b[0m")
    assert read(coloured).rows == read(NCCL).rows
    assert readers.read(STREAM.encode("utf-16")).rows == read(STREAM).rows
    assert readers.read(b"\xef\xbb\xbf" + STREAM.encode()).rows == read(STREAM).rows
    assert read(STREAM.replace("\n", "\r\n")).rows == read(STREAM).rows


def test_hccl_prints_no_busbw_so_it_is_computed():
    row = only(HCCL)
    context = reported.Context(ranks=8, joined=Topology(8, 196e9, 1, 196e9))
    (found,) = reported.explained(read(HCCL), context)
    assert row.busbw is None
    # 2 · 7/8 · 67108864 bytes ÷ 700 µs
    assert found.share == pytest.approx(1.75 * 67108864 / 700e-6 / found.bounds[0].value)


# --- Bandwidths -------------------------------------------------------------------------------------


def test_nvbandwidth_takes_the_slowest_pair_and_no_sum():
    host, local = read(EVERY["nvbandwidth -j"]).rows
    assert (host.value, host.both) == (54.9e9, False)
    assert (local.value, local.moved, local.device) == (1400.5e9, 2.0, "NVIDIA H100 80GB HBM3")
    assert only(NVBANDWIDTH_TEXT).value == 24.9e9


def test_stream_is_checked_by_its_own_sizes():
    copy, triad = read(STREAM).rows
    assert (copy.value, triad.value, copy.threads) == (80e9, 81e9, 16)
    found = read(STREAM.replace("81000.0 ", "91000.0 "))
    assert "not 3 arrays ÷ the least time" in found.refused[0]


def test_babelstream_in_both_units():
    assert [row.value for row in read(BABEL).rows] == [1750e9, 1800e9]
    assert read(BABEL.replace("MBytes", "MiBytes")).rows[0].value == 1750000 * 2**20


def test_perftest_needs_its_unit():
    assert only(PERFTEST).value == pytest.approx(48.1125e9)
    binary = (
        PERFTEST.replace("Gb/sec", "MB/sec").replace("384.90", "45883.18").replace("385.10", "0.00")
    )
    assert only(binary).value == pytest.approx(45883.18 * 2**20)
    with pytest.raises(readers.ReadError, match="BW average"):
        read(PERFTEST.replace("BW average[Gb/sec]", "BW average[furlongs]"))


# --- Models -----------------------------------------------------------------------------------------


def test_llama_bench_in_each_of_its_forms():
    prompt, output = read(LLAMA).rows
    assert (prompt.phase, prompt.prompt) == ("prefill", 512)
    assert (output.phase, output.context) == ("decode", 4096 + 64)
    assert output.stored == pytest.approx(4.58 * 2**30)
    assert output.params == pytest.approx(8.03e9)
    text = io.StringIO()
    writer = csv.DictWriter(text, LLAMA_ENTRY)
    writer.writeheader()
    writer.writerow(LLAMA_ENTRY)
    for other in (text.getvalue(), EVERY["llama-bench json"]):
        assert only(other).tokens_per_second == 88.1
    assert only(EVERY["llama-bench json"]).device == "NVIDIA GeForce RTX 4090"


def test_old_llama_bench_writes_tg_128():
    assert read(LLAMA.replace("tg128 @ d4096", "       tg 128")).rows[1].context == 64


def test_serving_takes_the_batch_from_littles_law_not_from_the_limit():
    row = only(EVERY["serving"])
    assert row.batch == 8  # 833.3 · 9.1 ms = 7.6
    assert row.context == 1250  # (100,000 + 25,000) ÷ 100
    wrong = dict(SERVING, output_throughput=1833.3)
    with pytest.raises(readers.ReadError, match=r"tokens ÷ duration is 833\.3, not 1833\.3"):
        read(json.dumps(wrong))


# --- GPUs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [NCU, NCU_COMMA])
def test_nsight_compute_in_any_locale(text):
    row = only(text)
    assert row.traffic == pytest.approx(132.4e6)
    assert row.seconds == pytest.approx(1100e-6)
    assert row.flops == pytest.approx(10e6)


def test_nsight_compute_wide():
    row = only(NCU_WIDE)
    assert row.traffic == pytest.approx(132.4e6)
    assert row.seconds == pytest.approx(1.1e-3)


def test_mixed_decimals_are_refused():
    with pytest.raises(
        readers.ReadError, match=r"mixed decimals: '132,40' has a comma, '1,100\.00'"
    ):
        read(NCU.replace("132.40", "132,40"))


def test_counters_are_averaged_for_each_gpu():
    first, second = read(DCGMI).rows
    assert (first.entity, first.samples) == ("GPU 0", 2)
    assert first.shares["dram_active"] == pytest.approx(0.854)
    assert second.shares["sm_active"] == 0.1
    assert only(PROMETHEUS).shares == {
        "dram_active": 0.85,
        "sm_active": 0.94,
        "gpu_utilization": 0.99,
    }
    renamed = PROMETHEUS.replace("DRAM_ACTIVE{", "DRAM_UTIL_RATIO{")
    assert only(renamed).shares["dram_active"] == 0.85


def test_a_matrix_of_links():
    pairs = {(row.first, row.second): row.path for row in read(TOPOLOGY).rows}
    assert pairs == {("GPU0", "GPU1"): "NV18", ("GPU0", "NIC0"): "PIX", ("GPU1", "NIC0"): "SYS"}
    old = TOPOLOGY.replace("NIC0", "mlx5_0")
    assert {row.second for row in read(old).rows} == {"GPU1", "mlx5_0"}
    context = reported.Context(machine=explain.machine("h100"))
    (found,) = reported.explained(read(TOPOLOGY), context)
    # Eighteen links of NVLink 4 carry 25 GB/s one way each.
    assert "18 NVLinks × 25 GB/s = 450 GB/s" in found.notes[0]["en"]


# --- What is nothing of the kind --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "expected a tool’s output, got nothing"),
        (b" \n\t\n", "expected a tool’s output, got nothing"),
        (b"\x7fELF\x02\x01\x00\x00", "expected text, got a binary file"),
        (b"\xff\xd8\xff\xe0abc", "expected text in UTF-8"),
        (b"hello", "expected the output of "),
        (b'{"a": 1}', "got one with a"),
        (b"[1, 2]", "got one with list"),
        (b'{"nvbandwidth": {"testc', "expected JSON, got something that breaks off"),
        (b'{"nvbandwidth": 3}', "expected a list of testcases"),
        (STREAM.encode() + LLAMA.encode(), "STREAM and llama-bench mixed"),
        (STREAM.replace("0.0", "0,0").encode(), "no row could be read"),
        (b"[" * 100000, "expected "),
    ],
)
def test_one_line_says_what_was_expected_and_what_was_seen(raw, message):
    with pytest.raises(readers.ReadError) as caught:
        readers.read(raw)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_secrets_are_never_echoed():
    found = read(EVERY["nccl-tests -J"])
    assert "verysecret" not in repr(found)
    assert "secret" not in repr(read(EVERY["serving"]))


def damaged(text, chance):
    """Cut, doubled, swapped or changed somewhere."""
    at = chance.randrange(len(text) + 1)
    other = chance.randrange(len(text) + 1)
    return chance.choice(
        [
            lambda: text[:at],
            lambda: text[at:],
            lambda: text[:at] + text[min(at + 7, len(text)) :],
            lambda: text[:at] + chance.choice('0123456789.,-|eE{}[]":\t \n\x1bé宽') + text[at:],
            lambda: text[: min(at, other)] + text[max(at, other) :],
            lambda: text[:at] + text[min(at, other) : max(at, other)] + text[at:],
            lambda: text[:at] + chance.choice("0123456789.,-") + text[at + 1 :],
        ]
    )()


@pytest.mark.parametrize("name", EVERY)
def test_damaged_text_never_ends_in_a_traceback(name):
    chance = random.Random(name)
    for _ in range(300):
        text = damaged(EVERY[name], chance)
        try:
            said = repr(readers.read(text.encode("utf-8", "surrogateescape")).rows[0])
        except readers.ReadError as error:
            said = str(error)
        assert said
        assert "\n" not in said


@pytest.mark.parametrize(
    "name", ["nccl-tests", "STREAM", "BabelStream", "dcgmi", "llama-bench", "hccl_test"]
)
def test_a_row_cut_off_anywhere_is_not_read_as_another_number(name):
    """Cut at each place: what is still read is what the whole says."""
    whole = {repr(row) for row in read(EVERY[name]).rows}
    numbers = set(re.findall(r"(?:value|seconds|busbw|tokens_per_second)=([\d.e+-]+)", repr(whole)))
    for at in range(len(EVERY[name])):
        try:
            found = read(EVERY[name][:at])
        except readers.ReadError:
            continue
        for row in found.rows:
            seen = re.findall(r"(?:value|seconds|busbw|tokens_per_second)=([\d.e+-]+)", repr(row))
            assert set(seen) <= numbers, EVERY[name][:at][-80:]
