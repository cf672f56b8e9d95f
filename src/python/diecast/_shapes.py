"""Shapes and types of what an op writes, without the tensors' memory: for frameworks that trace a
program. Sizes may be symbols, so that there is arithmetic here and little else. The library has its
own formulas (diecast_op_outputs), for numbers; tests/python/test_shapes.py holds these to them."""

from ._errors import ArgumentError

_TILE_ROWS = {"linear": 1, "s128x4": 128, "s8x4": 8}
_CODES = {"nvfp4": "u8", "mxfp4": "u8", "mxfp8_e4m3": "e4m3", "mxfp8_e5m2": "e5m2"}
_BLOCK = {"nvfp4": 16, "mxfp4": 32, "mxfp8_e4m3": 32, "mxfp8_e5m2": 32}


def _up(number, to):
    return _blocks(number, to) * to


def _blocks(number, block):
    return (number + block - 1) // block


def _rows(shape):
    rows = 1
    for size in shape[:-1]:
        rows = rows * size
    return rows


def _cols(shape):
    return shape[-1] if len(shape) else 1


def _with_last(shape, last):
    return (*shape[:-1], last)


def _is_packed(format):
    return _CODES[format] == "u8"


def _row_of_codes(format, cols):
    return _up(cols, _BLOCK[format]) // 2 if _is_packed(format) else cols


def _scales(format, layout, shape):
    """Of blocks along the rows of a matrix of `shape`."""
    blocks = _blocks(_cols(shape), _BLOCK[format])
    if layout == "linear":
        return _with_last(shape, blocks)
    return (_up(_rows(shape), _TILE_ROWS[layout]), _up(blocks, 4))


def _rowwise(format, layout, shape):
    return _with_last(shape, _row_of_codes(format, _cols(shape))), _scales(format, layout, shape)


def _columnwise(format, layout, shape):
    rows, cols = _rows(shape), _cols(shape)
    transposed = (cols, rows)
    if _is_packed(format):
        return _rowwise(format, layout, transposed)
    if layout == "linear":  # in the matrix's own order, as its codes
        return (rows, cols), (_blocks(rows, _BLOCK[format]), cols)
    return (rows, cols), _scales(format, layout, transposed)


def _unquantized(data, format, columnwise, rows, cols):
    """The shape of what codes came from; 0: as many as there are."""
    if not _is_packed(format):
        return _with_last(data, cols or _cols(data))
    length = (rows if columnwise else cols) or 2 * _cols(data)
    return (length, _rows(data)) if columnwise else _with_last(data, length)


def _sides(shape, format, options, present):
    """Codes, scales and amaxes of the sides that are present."""
    scale = "e4m3" if format == "nvfp4" else "e8m0"
    per_row = options.get("row_scaled", False)
    out = {}
    for side, suffix, count in ((_rowwise, "", _rows), (_columnwise, "_t", _cols)):
        if f"out_data{suffix}" in present:
            codes, scales = side(format, options["layout"], shape)
            out[f"out_data{suffix}"] = (_CODES[format], codes)
            out[f"out_scale{suffix}"] = (scale, scales)
        if f"out_amax{suffix}" in present:
            out[f"out_amax{suffix}"] = ("f32", (count(shape) if per_row else 1,))
    return out


def _group(tensors, format, options, present):
    shape = tuple(tensors["x"].shape)
    offsets = tuple(tensors["row_offsets"].shape)
    rows, members = _rows(shape), _rows(offsets) * _cols(offsets) - 1
    tile, blocks = _TILE_ROWS[options["layout"]], _blocks(_cols(shape), _BLOCK[format])
    cols = blocks if options["layout"] == "linear" else _up(blocks, 4)
    # Every member that has rows may end in a padded tile; rows of no scales count as none.
    padded = (rows + min(members, rows) * (tile - 1)) // tile * tile if cols != 0 else 0
    out = {"out_data": (_CODES[format], (rows, _row_of_codes(format, _cols(shape)))),
           "out_scale": ("e4m3" if format == "nvfp4" else "e8m0", (padded, cols))}
    if "out_amax" in present:
        out["out_amax"] = ("f32", (rows if options["row_scaled"] else members,))
    return out


def _amax(shape, options):
    rows, cols = _rows(shape), _cols(shape)
    return {"tensor": lambda: (1,), "row": lambda: (rows,), "column": lambda: (cols,),
            "block": lambda: (rows, _blocks(cols, options["block"])),
            "tile": lambda: (_blocks(rows, 16), _blocks(cols, 16))}[options["per"]]()


def _arranged(scale, options):
    shape, batch, layout = tuple(scale.shape), options["batch"], options["layout"]
    linear = options["from_layout"] == "linear"
    cols = options["cols"] or (_cols(shape) if linear else 0)
    rows = options["rows"] or (_rows(shape) // (batch or 1) if linear else 0)
    kind = scale.dtype if "e8m0" in str(scale.dtype) else "u8"
    return kind, (batch * _up(rows, _TILE_ROWS[layout]), cols if layout == "linear" else _up(cols, 4))


_GLOBAL = {"amax", "encode", "decode"}
_GLOBAL_T = {"amax_t", "encode_t", "decode_t"}


def _packed(data, format):
    """Bytes of packed weights: tiles of 64x64 codes and their scales."""
    if len(data) not in (2, 3):
        raise ArgumentError("shape_mismatch", f"pack_linear: data has {len(data)} dimensions",
                            "pass [N, K/2], or [weights, N, K/2]")
    *weights, rows, cols = data
    count = weights[0] if weights else 1
    return count * _blocks(rows, 64) * _blocks(2 * cols, 64) * (2048 + 4096 // _BLOCK[format])


def _unpacked(options):
    weights = (options["weights"],) if options["weights"] else ()
    rows, cols, format = options["rows"], options["cols"], options["format"]
    return {"out_data": ("u8", (*weights, rows, cols // 2)),
            "out_scale": ("e4m3" if format == "nvfp4" else "e8m0",
                          (*weights, rows, cols // _BLOCK[format]))}


def _linear(shape, options):
    gated = options["activation"] in ("silu_and_mul", "swiglu_oai")
    return _with_last(shape, options["rows"] // 2 if gated else options["rows"])


def present(op, given, options):
    """Names of the outputs that a call has: `given` is the set of the names of its inputs."""
    absent = set()
    if op.name.startswith("quantize_nvfp4"):
        if options.get("block_scales_alone") or given & _GLOBAL:
            absent = {"out_amax", "out_amax_t"}
        elif given & _GLOBAL_T:
            absent = {"out_amax_t"}
    elif op.name == "pack_linear" and not options.get("status"):
        absent = {"out_status"}
    elif op.name.endswith("_experts"):
        absent = {"out_unexpected"}  # only where it is given
    direction = options.get("direction", "rowwise") if op.directed else "both"
    return [name for name in op.outputs if name not in absent and
            (direction == "both" or name.endswith("_t") == (direction == "columnwise"))]


def outputs(op, tensors, options):
    """The outputs of a call by name: a type and a shape each. tensors: inputs by name, with .shape and
    .dtype. A type is a word of diecast's ("u8"), or the dtype of the input that it is of. Raises
    ArgumentError for an option that is none of its words, and where no shape follows; other faults are
    found by the call itself.
    """
    op.check_words(options)
    there = present(op, tensors.keys(), options)
    options = {option.name: options.get(option.name, option.default) for option in op.options}
    first = tensors[op.inputs[0]]
    shape = tuple(first.shape)
    match op.name:
        case "quantize_nvfp4":
            return _sides(shape, "nvfp4", options, there)
        case "quantize_mx":
            return _sides(shape, options["format"], options, there)
        case "quantize_nvfp4_grouped":
            return _group(tensors, "nvfp4", options, there)
        case "quantize_mx_grouped":
            return _group(tensors, options["format"], options, there)
        case "dequantize_nvfp4" | "dequantize_mx":
            format = options.get("format", "nvfp4")
            whole = _unquantized(shape, format, options["columnwise"], options["rows"],
                                 options["cols"])
            return {"out": (options["dtype"], whole)}
        case "fp4_dequantize":
            return {"out": (options["dtype"], _with_last(shape, 2 * _cols(shape)))}
        case "amax":
            return {"out": ("f32", _amax(shape, options))}
        case "compute_fp4_scales":
            return {"out": ("f32", shape)}
        case "static_blockwise_fp4_fake_quant" | "fp4_fake_quant_block":
            return {"out": (first.dtype, shape)}
        case "gemm_nvfp4":
            return {"out": (options["dtype"], (_rows(shape), _rows(tensors["b"].shape)))}
        case "arrange_scales":
            return {"out": _arranged(first, options)}
        case "transpose_codes":
            rows, cols = options["rows"] or _rows(shape), options["cols"] or 2 * _cols(shape)
            return {"out": ("u8", (cols, _up(rows, options["pad"]) // 2))}
        case "transpose_nvfp4":
            whole = _unquantized(shape, "nvfp4", False, 0, options["cols"])
            return _sides(whole, "nvfp4", options, there)
        case "pack_linear":
            if "up_data" in tensors:  # gate's rows and as many of up
                shape = (*shape[:-2], 2 * shape[-2], shape[-1])
            packed = {"out_packed": ("u8", (_packed(shape, options["format"]),))}
            return packed | ({"out_status": ("i32", (4,))} if "out_status" in there else {})
        case "unpack_linear":
            return _unpacked(options)
        case "linear":
            return {"out": (options["dtype"], _linear(shape, options))}
        case "linear_experts":
            if options["form"] == "indexed":
                shape = (*tensors["routing"].shape, 0)
            return {"out": (options["dtype"], _linear(shape, options))}
        case "combine_experts":
            return {"out": (options["dtype"], _with_last(tensors["topk_ids"].shape, _cols(shape)))}
    raise NotImplementedError(f"{op.name} has no shapes in diecast._shapes")
