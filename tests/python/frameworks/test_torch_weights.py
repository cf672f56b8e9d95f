"""Sharded master weights over a torch.distributed group: FSDP2 on two ranks, and one rank's faults."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import two_ranks
from conftest import ROOT

import diecast
import diecast.torch
from diecast.compat import megatron
from diecast.torch import NVFP4Tensor, quantize_master_weights
from diecast.torch._distributed import _Communicator


@pytest.fixture(scope="module", autouse=True)
def group(tmp_path_factory):
    """A group of one rank."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path_factory.mktemp('group')}/ranks",
                            rank=0, world_size=1)
    diecast.torch.use_host()
    yield dist.group.WORLD
    dist.destroy_process_group()


def matrix(rows, cols):
    return torch.randn((rows, cols), generator=torch.Generator().manual_seed(rows)) * 3


def blank(rows, cols, **options):
    return NVFP4Tensor.quantize(torch.zeros(rows, cols, dtype=torch.bfloat16), square=True, **options)


def same(a, b):
    return all(torch.equal(p.view(torch.uint8), q.view(torch.uint8))
               for p, q in ((a.data, b.data), (a.scale, b.scale), (a.amax, b.amax)))


def test_two_ranks_under_fsdp2():
    done = subprocess.run([sys.executable, ROOT / "examples/fsdp_weights.py"], capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    assert len(lines) == 3 and all(line.endswith("4 of 4 weights equal the whole cast")
                                   for line in lines), done.stdout


def test_ranks_that_disagree_fail_together_and_go_on():
    done = subprocess.run([sys.executable, Path(__file__).parent / "two_ranks.py"], capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = {}
    for line in done.stdout.split("\n")[1:]:
        fault, rank, kind, text = json.loads(line)
        said.setdefault(fault, {})[rank] = kind, text
    assert said.pop("nothing wrong") == {0: ("", "equal"), 1: ("", "equal")}
    assert len(said) == len(two_ranks.FAULTS) - 1
    for fault, of_ranks in said.items():
        kind, text = of_ranks[0]
        assert kind in ("ArgumentError", "DtypeError"), (fault, text)
        assert "rank 1" in text and "fix: " in text, (fault, text)
        own = of_ranks[1][1].partition("\n")[0]
        assert own in text, (fault, own, text)  # the same, or without "rank 1: "


@pytest.mark.parametrize("layout", ["linear", "s128x4"])
def test_one_rank_casts_the_whole(layout):
    masters = [matrix(33, 64), matrix(16, 40), matrix(5, 16).bfloat16().float()]
    weights = [blank(*master.shape, layout=layout) for master in masters]
    quantize_master_weights(weights, [master.flatten() for master in masters], [0, 0, 0])
    for weight, master in zip(weights, masters):
        assert same(weight, NVFP4Tensor.quantize(master.bfloat16(), square=True, layout=layout))
    wide = blank(33, 64)
    quantize_master_weights([wide], [torch.nn.Parameter(masters[0])], [None], dist.group.WORLD,
                            gather=False, model_dtype=torch.float32)
    assert same(wide, NVFP4Tensor.quantize(masters[0], square=True))
    quantize_master_weights([], [], [])


def test_a_weight_with_transformer_engines_fields():
    class Weight:
        """Its rowwise side."""

    master = matrix(40, 80)
    wanted = NVFP4Tensor.quantize(master.bfloat16(), square=True)
    fields = blank(40, 80).to_transformer_engine()
    weight = Weight()
    for name, value in fields.items():
        setattr(weight, "_amax_rowwise" if name == "amax_rowwise" else f"_{name}", value)
    megatron.quantize_nvfp4_param_shard([weight], [master], [0], dist.group.WORLD)
    megatron.quantize_nvfp4_param_shard([], [], [], dist.group.WORLD)
    with pytest.raises(diecast.ArgumentError, match="fsdp_shard_model_params"):
        megatron.quantize_nvfp4_param_shard([weight], [master], [0], dist.group.WORLD, [None])
    for name, value in wanted.to_transformer_engine().items():
        got = getattr(weight, "_amax_rowwise" if name == "amax_rowwise" else f"_{name}")
        assert torch.equal(got, value), name


@pytest.mark.parametrize("change, error, text", [
    ({"start_offsets": [1]}, diecast.ArgumentError, "outside"),
    ({"start_offsets": []}, diecast.ArgumentError, "0 offsets"),
    ({"fsdp_shard_model_weights": [None]}, diecast.ArgumentError, "fsdp_shard_model_weights"),
    ({"model_weights": [matrix(4, 32)]}, diecast.DtypeError, "no weight in NVFP4"),
    ({"master_weights": [matrix(4, 32).long()]}, diecast.DtypeError, "i64"),
    ({"master_weights": ["x"]}, diecast.DtypeError, "master is str, no tensor"),
    ({"model_dtype": torch.int8}, diecast.ArgumentError, "dtype = torch.int8"),
])
def test_faults(change, error, text):
    given = {"model_weights": [blank(4, 32)], "master_weights": [matrix(4, 32)], "start_offsets": [0]}
    with pytest.raises(error, match=text):
        quantize_master_weights(**{**given, **change})


def test_a_rank_outside_the_group_is_refused():
    with pytest.raises(diecast.ArgumentError, match="no member of the group"):
        quantize_master_weights([blank(4, 32)], [matrix(4, 32)], [0], dist.GroupMember.NON_GROUP_MEMBER)


def test_mixed_weights_are_refused():
    masters = [matrix(4, 32)] * 2
    with pytest.raises(diecast.ArgumentError, match="layouts linear, s128x4"):
        quantize_master_weights([blank(4, 32), blank(4, 32, layout="s128x4")], masters, [0, 0])


def test_what_the_group_raises_comes_out(monkeypatch):
    def broken(*_):
        raise ConnectionError("a rank is gone")

    monkeypatch.setattr(dist, "all_reduce", broken)
    with pytest.raises(ConnectionError, match="a rank is gone"):
        quantize_master_weights([blank(4, 32)], [matrix(4, 32)], [0])


def test_cpu_weights_are_refused_until_asked_for():
    diecast.torch.use_host(False)
    try:
        with pytest.raises(diecast.ArgumentError, match="on the CPU"):
            quantize_master_weights([NVFP4Tensor(*diecast.quantize_nvfp4(
                matrix(4, 32), device="host"), shape=(4, 32))], [matrix(4, 32)], [0])
    finally:
        diecast.torch.use_host()


def test_what_a_group_does_waits_for_the_librarys_stream(monkeypatch):
    for name in ("ExternalStream", "default_stream"):
        monkeypatch.setattr(torch.cuda, name, lambda *of, name=name, **named: (name, *of))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: stream)
    ranks = _Communicator(None, torch.device("cuda", 1))
    assert ranks._on(0) == ("default_stream", torch.device("cuda", 1))
    assert ranks._on(4096) == ("ExternalStream", 4096)
