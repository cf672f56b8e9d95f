"""The functions of other libraries, by their names, with their arguments, shapes and types, over
diecast's ops. They need torch, are traced as diecast.torch's are, and run on every GPU that the op
does.

    from diecast.compat.flashinfer import nvfp4_quantize      # in place of: from flashinfer import ...

| module | library | whose bits |
|---|---|---|
| modelopt | ModelOpt's fp4 kernels | profile modelopt |
| flashinfer | FlashInfer 0.6.18 | profiles flashinfer_*; MXFP8: profile te, equal for bf16 and f16 of normal size |
| vllm | vLLM's Python functions | profile flashinfer_dsl_fast, whose formula vLLM has |
| megatron | Megatron core's fp4_utils | profile te |

The fast profiles have the bits of a GPU's approximate reciprocal, so that they need a GPU. With
FLASHINFER_DISABLE_FP4_QUANT_FAST_MATH=1 FlashInfer's functions divide exactly, on the CPU too.

An argument that only tunes their kernels is taken and does nothing. One that asks for what diecast has
not is refused by its name.
"""
