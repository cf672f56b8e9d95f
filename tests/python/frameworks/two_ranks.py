"""Two ranks that cast weights, of which rank 1 does something wrong in each call but the last:
python two_ranks.py prints a line of JSON for each call and rank, [fault, rank, class, text]."""

import datetime
import json
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

import diecast
import diecast.torch
from diecast.torch import NVFP4Tensor, quantize_master_weights

SHAPES = ((33, 64), (16, 48))


def masters():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) * 3 for shape in SHAPES]


def call(rank):
    """The arguments of a call that is right: halves of each master."""
    weights = [NVFP4Tensor.quantize(torch.zeros(shape, dtype=torch.bfloat16), square=True) for shape in SHAPES]
    halves = [master.flatten().chunk(2) for master in masters()]
    starts = [rank * one[0].numel() for one in halves]
    return {"model_weights": weights, "master_weights": [one[rank] for one in halves], "start_offsets": starts}


FAULTS = {
    "no weight": lambda c: c["model_weights"].__setitem__(0, torch.zeros(3)),
    "no weights": lambda c: [each.clear() for each in c.values()],
    "fewer weights": lambda c: [each.pop() for each in c.values()],
    "other order": lambda c: [each.reverse() for each in c.values()],
    "other shape": lambda c: c["model_weights"].__setitem__(
        1, NVFP4Tensor.quantize(torch.zeros(16, 64, dtype=torch.bfloat16), square=True)),
    "fewer offsets": lambda c: c["start_offsets"].pop(),
    "an offset of text": lambda c: c["start_offsets"].__setitem__(0, "a"),
    "an offset outside": lambda c: c["start_offsets"].__setitem__(0, 1057),
    "an overlap": lambda c: c["start_offsets"].__setitem__(0, 1055),
    "a master of f16": lambda c: c["master_weights"].__setitem__(0, c["master_weights"][0].half()),
    "a master of text": lambda c: c["master_weights"].__setitem__(0, "a"),
    "a strided master": lambda c: c["master_weights"].__setitem__(0, torch.zeros(1056, 2)[:, 0]),
    "a meta master": lambda c: c["master_weights"].__setitem__(0, torch.zeros(1056, device="meta")),
    "another model": lambda c: c.update(model_dtype=torch.float32),
    "no model": lambda c: c.update(model_dtype=torch.int8),
    "mixed layouts": lambda c: c["model_weights"].__setitem__(0, c["model_weights"][0].with_layout("s8x4")),
    "another profile": lambda c: c["model_weights"].__setitem__(
        0, NVFP4Tensor.quantize(torch.zeros(33, 64, dtype=torch.bfloat16), profile="torchao")),
    "not on the host": lambda c: diecast.torch.use_host(False),
    "nothing wrong": lambda c: None,
}


def say(*words):
    """One write, which the other rank's does not divide."""
    print(f"\n{json.dumps(words)}", end="", flush=True)


def run(rank, folder):
    """What each rank does. A rank that waits for ever is an error of the group after a while."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/ranks", rank=rank, world_size=2,
                            timeout=datetime.timedelta(seconds=60))
    torch.set_num_threads(1)
    for fault, spoil in FAULTS.items():
        diecast.torch.use_host()
        arguments = call(rank)
        if rank == 1:
            spoil(arguments)
        try:
            quantize_master_weights(**arguments)
        except Exception as error:
            say(fault, rank, type(error).__name__, str(error))
            continue
        whole = [NVFP4Tensor.quantize(master.bfloat16(), square=True) for master in masters()]
        equal = all(torch.equal(a.data, b.data) for a, b in zip(arguments["model_weights"], whole))
        say(fault, rank, "", "equal" if equal else "not equal")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as of_group:
        processes.spawn(run, (of_group,), nprocs=2)
