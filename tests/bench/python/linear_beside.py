"""Times linear layers beside Humming's and cuBLAS's: python linear_beside.py, on a machine with a GPU, torch and the
Python package; rows that name Humming need humming-kernels. NVFP4 weights under bf16 rows; Humming and diecast get the
same checkpoint, cuBLAS its values in bf16. All run in CUDA graphs whose calls take other weights in turn, and graphs
take turns; times are medians. Results are compared first: what is wrong has no time.
"""

import argparse
import copy
import statistics

import torch

from diecast.torch import PackedLinear

try:
    from humming.layer import HummingLayer
    from humming.testing.data import generate_moe_tensors
    from humming.tune import get_heuristics_config
except ImportError:
    HummingLayer = None

SHAPES = [(4096, 4096), (7168, 2048), (28672, 8192), (8192, 28672)]
ROWS = [1, 16, 24, 32, 64, 128, 256, 512, 1024, 4096, 8192]
LAYERS = [(256, 8, 7168, 2048), (128, 8, 2048, 768), (8, 2, 4096, 14336)]  # experts, a token's, N, K
TOKENS = [1, 16, 64, 1024, 4096]
MOST_BY_ID = 64
FEWEST_FAST = 512
ROTATED = 300_000_000
TURNS = 15
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])


def checkpoint(*shape):
    """Codes, E4M3 scales from 0.25 to 4 as bytes, and the values without the global scale, in bf16."""
    *weights, rows, cols = shape
    codes = torch.randint(0, 256, (*weights, rows, cols // 2), dtype=torch.uint8, device="cuda")
    scale = torch.randint(0x28, 0x49, (*weights, rows, cols // 16), dtype=torch.uint8, device="cuda")
    table = E2M1.cuda().bfloat16()
    values = torch.stack([table[(codes & 15).long()], table[(codes >> 4).long()]], -1).flatten(-2)
    by = scale.view(torch.float8_e4m3fn).bfloat16().repeat_interleave(16, -1)
    return codes, scale, values * by


def sets_of(bytes_, calls):
    """How many weights of so many bytes rotate."""
    return min(1 + ROTATED // bytes_, calls)


class Graphs:
    """Calls in CUDA graphs, timed in turns."""

    def __init__(self):
        self.graphs, self.calls = {}, {}

    def add(self, name, calls, call):
        call(0)  # compiles, loads
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(calls):
                call(i)
        self.graphs[name], self.calls[name] = graph, calls

    def microseconds(self):
        """Of a call of each, behind a replay of its own kind."""
        times = {name: [] for name in self.graphs}
        for _ in range(TURNS):
            for name, graph in self.graphs.items():
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                graph.replay()
                start.record()
                graph.replay()
                end.record()
                end.synchronize()
                times[name].append(start.elapsed_time(end) * 1000 / self.calls[name])
        return {name: statistics.median(of) for name, of in times.items()}


def packed_sets(codes, scale, calls):
    """diecast's weights."""
    one = PackedLinear.pack(codes, scale)
    describe = one.description()
    return [PackedLinear(one.data.clone(), **describe) for _ in range(sets_of(one.data.numel(), calls))]


def humming_sets(codes, scale, factor, calls):
    """Humming's, of the same checkpoint; none without it."""
    if HummingLayer is None:
        return []
    *experts, rows, half = codes.shape
    layer = HummingLayer(shape_n=rows, shape_k=2 * half, torch_dtype=torch.bfloat16,
                         num_experts=experts[0] if experts else None,
                         weight_config={"quant_method": "modelopt", "quant_algo": "nvfp4"}).cuda()
    layer.weight.copy_(codes.view(layer.weight.shape))
    layer.weight_scale.copy_(scale.view(torch.float8_e4m3fn).view(layer.weight_scale.shape))
    layer.weight_scale_2.fill_(factor)
    layer.transform()
    return [layer] + [copy.deepcopy(layer) for _ in range(sets_of(codes.numel() + scale.numel(), calls) - 1)]


def near(got, wanted):
    """Within bf16's rounding, and that of sums, of the largest number."""
    error = (got.float() - wanted.float()).abs().max().item()
    return error <= 2**-6 * wanted.float().abs().max().item()


def calls_for(rows):
    """Of a graph."""
    return 48 if rows <= 64 else 16 if rows <= 1024 else 4


def dense(cols, depth, all_rows):
    """A line for each number of rows: microseconds of each."""
    codes, scale, values = checkpoint(cols, depth)
    factor = torch.full((1,), 2**-6, device="cuda")
    wide = values * 2**-6
    ours = packed_sets(codes, scale, 48)
    theirs = humming_sets(codes, scale, 2**-6, 48)
    bf16 = [wide.clone() for _ in range(sets_of(wide.numel() * 2, 48) + 1)]
    spare = torch.empty_like(ours[0].data)
    for rows in all_rows:
        x = torch.randn(rows, depth, dtype=torch.bfloat16, device="cuda")
        out, other, by_cublas = (torch.empty(rows, cols, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        runs = {"diecast": lambda i: ours[i % len(ours)].linear(x, factor, out=out),
                "cublas": lambda i: torch.mm(x, bf16[i % len(bf16)].t(), out=by_cublas),
                "copy": lambda i: spare.copy_(ours[i % len(ours)].data)}
        if rows <= 32:
            runs["settled"] = lambda i: ours[i % len(ours)].linear(x, factor, out=out, settled=True)
        if rows >= FEWEST_FAST:
            runs["fast"] = lambda i: ours[i % len(ours)].linear(x, factor, out=out, fast=True)
        if theirs:
            runs["humming"] = lambda i: theirs[i % len(theirs)](x, outputs=other)
        times = measured(runs, calls_for(rows), by_cublas, {"diecast": out, "settled": out, "fast": out, "humming": other})
        yield {"form": "dense", "n": cols, "k": depth, "m": rows,
               **with_floor(times, spare.numel(), rows, cols + depth)}


def with_floor(times, bytes_, rows, numbers):
    """The same, with the time of the bytes that a call must move instead of that of a copy of the weight."""
    if "copy" in times:
        times["floor"] = times.pop("copy") * (bytes_ + 2 * rows * numbers) / (2 * bytes_)
    return times


def measured(runs, calls, wanted, outs):
    """Times of those whose result is near `wanted`."""
    for name in [name for name in ("cublas", *runs) if name in runs]:
        runs[name](0)
        torch.cuda.synchronize()
        if name in outs and wanted is not None and not near(outs[name], wanted):
            return {"wrong": name}
    graphs = Graphs()
    for name, run in runs.items():
        graphs.add(name, calls, run)
    return graphs.microseconds()


def dealt(experts, topk, tokens):
    """Different experts for a token's slots, all experts as often."""
    deck = torch.randperm(experts)
    return deck[torch.arange(tokens * topk) % experts].view(tokens, topk).int().cuda()


def products(values, factor, x, ids, topk):
    """What each slot's row is, of bf16 values."""
    out = torch.empty(ids.numel(), values.shape[1], dtype=torch.float32, device="cuda")
    for expert in range(values.shape[0]):
        slots = (ids.view(-1) == expert).nonzero().view(-1)
        out[slots] = x[slots // topk].float() @ values[expert].float().t() * factor
    return out


def experts(count, topk, cols, depth, all_tokens):
    """As dense(): by id for few tokens, else by offset."""
    codes, scale, values = checkpoint(count, cols, depth)
    factors = torch.full((count,), 2**-6, device="cuda")
    ours, theirs = packed_sets(codes, scale, 48), humming_sets(codes, scale, 2**-6, 48)
    for tokens in all_tokens:
        by_id, slots = tokens <= MOST_BY_ID, tokens * topk
        ids = dealt(count, topk, tokens)
        x = torch.randn(tokens, depth, dtype=torch.bfloat16, device="cuda")
        wanted = products(values, 2**-6, x, ids, topk)
        out, other = (torch.empty(slots, cols, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        offsets = torch.nn.functional.pad(ids.view(-1).bincount(minlength=count).cumsum(0), (1, 0))
        order = ids.view(-1).argsort(stable=True)
        if not by_id:
            x, wanted = x[order // topk].contiguous(), wanted[order]
        routing, form = (ids, "indexed") if by_id else (offsets.int(), "contiguous")
        to = out.view(tokens, topk, cols) if by_id else out
        runs = {"diecast": lambda i: ours[i % len(ours)].linear_experts(x, factors, routing, form=form, out=to)}
        if not by_id:
            runs["fast"] = lambda i: ours[i % len(ours)].linear_experts(x, factors, routing, form=form, out=to, fast=True)
        if theirs:
            runs["humming"] = humming_experts(theirs, x, ids, offsets, count, topk, by_id, other)
        calls = 48 if by_id else 4
        yield {"form": f"{topk} of {count} by {'id' if by_id else 'offset'}", "n": cols, "k": depth, "m": tokens,
               **measured(runs, calls, wanted, {"diecast": out, "fast": out, "humming": other})}


def humming_experts(layers, x, ids, offsets, count, topk, by_id, out):
    """Humming's call. Its sorting of ids is made before and takes no part in its time."""
    kind = "indexed" if by_id else "grouped_contiguous"
    given = {"compute_config": {"gemm_type": kind}, "outputs": out}
    if by_id:
        tuning = get_heuristics_config(layers[0].humming_config, shape_m=ids.numel(), gemm_type=kind)
        _, _, order, of_blocks, padded = generate_moe_tensors(ids, count, kind, tuning["block_shape"][0])
        given |= {"sorted_ids": order, "expert_ids": of_blocks, "num_tokens_padded": padded, "top_k": topk,
                  "tuning_config": tuning}
    else:
        given["expert_layout"] = offsets.long()
    return lambda i: layers[i % len(layers)](x, **given)


def line(row):
    """A row of the table. Ratios are of the others' times over ours."""
    name = f"{row['form']:16} {row['n']:6}x{row['k']:<6} {row['m']:5}"
    if "wrong" in row:
        return f"{name}   WRONG: {row['wrong']} differs"
    times = "".join(f"{row[of]:10.2f}" if of in row else " " * 10
                    for of in ("floor", "diecast", "settled", "fast", "humming", "cublas"))
    ratios = "".join(f"{row[of] / row['diecast']:8.2f}" if of in row else " " * 8 for of in ("humming", "cublas"))
    return f"{name}{times}{ratios}"


def shape(text):
    """"8192x4096" as rows and columns."""
    rows, cols = text.split("x")
    return int(rows), int(cols)


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Times linear layers beside Humming's and cuBLAS's.")
    parser.add_argument("--shape", type=shape, action="append", help="weights of these rows and columns alone")
    parser.add_argument("--rows", type=int, action="append", help="so many rows, or tokens, alone")
    parser.add_argument("--form", choices=["dense", "experts"], help="of this form alone")
    given = parser.parse_args()
    torch.manual_seed(1)
    print(torch.cuda.get_device_name(), "torch", torch.__version__,
          "without humming-kernels" if HummingLayer is None else "with humming-kernels")
    print(f"{'form':16} {'weight':>13} {'M':>5}     floor   diecast   settled      fast   humming    cublas  hum/us  cub/us")
    wanted = given.rows or ROWS
    forms = []
    if given.form != "experts":
        forms += [dense(*each, wanted) for each in given.shape or SHAPES]
    if given.form != "dense" and not given.shape:
        forms += [experts(*each, given.rows or TOKENS) for each in LAYERS]
    for form in forms:
        for row in form:
            print(line(row), flush=True)


if __name__ == "__main__":
    main()
