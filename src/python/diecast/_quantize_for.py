"""Weight sync: new weights in the form that an engine serving a quantized folder has."""

from collections.abc import Mapping

from . import _core, _frameworks
from ._errors import DtypeError
from ._runtime import given_or_own

_WORDS = {"U8": "u8", "F8_E4M3": "e4m3", "F8_E8M0": "e8m0", "F32": "f32"}  # of safetensors' types


def _listed(pairs):
    """The pairs of any iterable, or of a dict."""
    pairs = list(pairs.items() if isinstance(pairs, Mapping) else pairs)
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DtypeError("dtype_mismatch",
                             f"quantize_for: a {type(pair).__name__} is no pair of a name and a tensor",
                             "pass pairs, as named_parameters() gives them, or a dict, as state_dict() does")
    return pairs


def _by_name(argument, given):
    """What is given for single weights, a dict."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise DtypeError("dtype_mismatch", f"quantize_for: {argument} is {type(given).__name__}, no dict",
                         f"pass {argument} as a dict, by the names of weights")
    return given


def quantize_for(config, pairs, *, amaxes=None, input_scales=None, profile=None, four_over_six=None,
                 e4m3_bound=448, whole_families=False, device=None, stream=None, runtime=None):
    """Quantizes weights as the config of a quantized folder says. The bits are those that
    `diecast quantize` writes of these weights.

    config: the folder's config.json, its text or a dict. pairs: (name, tensor) pairs or a dict of them,
    with the names of the model without quantization. Weights that share a global scale (q, k and v) come in one call,
    unless amaxes has the amax of each, f32 [1], by name. input_scales: amax / 2688 of a weight's inputs,
    by name; 1.0 for others. profile, four_over_six, e4m3_bound: as the folder was made with.
    whole_families: the model has no other weights that share a scale with these.

    Returns (name, tensor) pairs in the stream's order, tensors made by each weight's framework. Weights
    that are not quantized are passed on. Raises ArgumentError for a config that says no form, for a part
    of what shares a scale, and for rows that are no whole blocks.
    """
    if not isinstance(config, str):
        import json
        config = json.dumps(config)
    pairs = _listed(pairs)
    amaxes, input_scales = _by_name("amaxes", amaxes), _by_name("input_scales", input_scales)
    if not pairs:
        return []
    weights = [(name, tensor, amaxes.get(name), float(input_scales.get(name, 1.0)))
               for name, tensor in pairs]
    handle = given_or_own(runtime).handle
    prepared = _core.quantize_for_prepare(handle, config, weights, device, stream, profile,
                                          four_over_six, e4m3_bound, whole_families)
    workspace_bytes, outputs = _core.quantize_for_outputs(prepared)
    made = [(name, _frameworks.allocate(pairs[source][1], _WORDS[kind], shape))
            for name, kind, shape, source in outputs]
    workspace = _frameworks.allocate(pairs[0][1], "f32", (workspace_bytes // 4,)) if workspace_bytes else None
    _core.quantize_for_run(prepared, weights, [tensor for _, tensor in made], workspace, device, stream)
    sources = {source for _, _, _, source in outputs}
    return made + [pair for i, pair in enumerate(pairs) if i not in sources]
