"""Training under FSDP2 with NVFP4 copies of the weights: python examples/fsdp_weights.py

Two ranks train a small transformer layer, on two GPUs by NCCL where there are two, else on the CPU by gloo.
Each rank has a shard of every weight in f32. After each step the ranks cast their shards together, and
gather the codes. The result is compared with the cast of each whole weight: it has the same bits."""

import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import diecast.torch
from diecast.torch import NVFP4Tensor

RANKS, STEPS, WIDTH = 2, 3, 48


def shard_of(parameter):
    """This rank's rows of an FSDP2 parameter, and the flat index where they begin."""
    mine = parameter.to_local()
    rows = -(-parameter.shape[0] // dist.get_world_size())  # of every rank but the last
    start = min(rows * dist.get_rank(), parameter.shape[0]) * parameter.shape[1]
    return mine.reshape(-1), start


def same_bits(a, b):
    """Whether two weights have the same codes, scales and amax."""
    return all(torch.equal(p.view(torch.uint8), q.view(torch.uint8))
               for p, q in ((a.data, b.data), (a.scale, b.scale), (a.amax, b.amax)))


def train(rank, folder, device):
    """What each rank does."""
    backend = "nccl" if device == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=f"file://{folder}/ranks", rank=rank, world_size=RANKS)
    if device == "cuda":
        torch.cuda.set_device(rank)
    else:
        diecast.torch.use_host()
    torch.set_default_device(device)
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
    fully_shard(model, mesh=init_device_mesh(device, (RANKS,)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    masters = [parameter for parameter in model.parameters() if parameter.ndim == 2]
    weights = [NVFP4Tensor.quantize(torch.zeros(parameter.shape, dtype=torch.bfloat16), square=True)
               for parameter in masters]
    torch.manual_seed(rank + 1)  # batches of its own
    for step in range(STEPS):
        batch = torch.randn(4, 8, WIDTH)
        loss = (model(batch) - batch.flip(1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        shards, starts = zip(*(shard_of(parameter) for parameter in masters))
        diecast.torch.quantize_master_weights(weights, shards, starts, dist.group.WORLD)
        whole = [NVFP4Tensor.quantize(parameter.full_tensor().detach().bfloat16(), square=True)
                 for parameter in masters]
        equal = sum(same_bits(a, b) for a, b in zip(weights, whole))
        if equal != len(weights):
            sys.exit(f"rank {rank}, step {step}: {equal} of {len(weights)} weights equal the whole cast")
        if rank == 0:
            print(f"step {step}: loss {loss.item():.3f}, {equal} of {len(weights)} weights equal the "
                  "whole cast")
    dist.destroy_process_group()


if __name__ == "__main__":
    where = "cuda" if torch.cuda.device_count() >= RANKS else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        processes.spawn(train, (folder, where), nprocs=RANKS)
