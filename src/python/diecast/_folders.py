"""Folders: checkpoints that are quantized, and asked whether engines would load them."""

import os

from . import _core
from ._errors import ArgumentError
from ._runtime import given_or_own


def quantize_folder(input, output=None, *, format=None, config=None, recipe=None, experts=None, profile=None,
                    four_over_six=None, e4m3_bound=448, row_scaled=False, include=(), keep=(), exclude=(),
                    mxfp8=(), first_layers=0, last_layers=0, keep_fp8=False, input_scale=1.0,
                    input_scales=None, scale_layout=None, high_first=False, strict=False, force=False,
                    allow_nonfinite=False, overwrite=False, dry_run=False, jobs=0, device=None,
                    runtime=None):
    """Quantizes a checkpoint, as `diecast quantize` does: a safetensors file, an index of several, or a
    model's folder. device: "host", or a CUDA device; None: the current one.

    format: "nvfp4", "nvfp4-w4a16", "mxfp8" or "mxfp4". config: "modelopt", "compressed-tensors" or
    "sglang". recipe: "experts", "mlp" or "mlp+o". experts: "fused". include, keep, exclude, mxfp8: globs
    of names, one or several. input_scale: amax / 2688 of activations; input_scales: a file with those of
    single modules. scale_layout, high_first: how another tool's NVFP4 lies that does not say it. The
    others, and what all do, are the command's, whose help says more.

    Returns a dict: copied, quantized, dequantized, nonfinite (tensors); input_bytes, output_bytes;
    cast_blocks, exact_blocks (of MXFP4). dry_run: nothing is written, and the dict is the plan: tensors,
    notes, side_files. Nothing half-written is left behind an error."""
    if input_scale == 0:
        raise ArgumentError("invalid_argument", "quantize_folder: input_scale is 0",
                            "pass amax / 2688 of a calibration, a positive number")
    scales = None if input_scales is None else os.fsdecode(input_scales)
    options = ((_globs(include), _globs(keep), _globs(exclude), _globs(mxfp8)),
               (format, config, recipe, experts, profile, four_over_six, scale_layout, scales),
               (e4m3_bound, first_layers, last_layers, jobs, input_scale),
               (row_scaled, keep_fp8, high_first, strict, force, allow_nonfinite, overwrite))
    if dry_run:
        import json
        return json.loads(_core.plan_folder(os.fsdecode(input), *options))
    return _core.quantize_folder(given_or_own(runtime).handle, _core.device_handle(device), os.fsdecode(input),
                                 os.fsdecode(output), *options)


def _globs(given):
    return [os.fsdecode(glob) for glob in ([given] if isinstance(given, str) else given)]


def verify_folder(folder):
    """Would engines load this folder of quantized weights? As `diecast verify` asks, of its config and
    tensors alone.

    Returns a dict. engines: of each, version and loads (None where its rules are not known); faults:
    dicts of engines, what, fix and count; notes; quantized and others, the numbers of modules."""
    import json
    return json.loads(_core.verify_folder(os.fsdecode(folder)))
