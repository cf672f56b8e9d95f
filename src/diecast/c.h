/* diecast for C and for languages that bind to C: link libdiecast_c.so.1, which shows diecast_* and
 * nothing else.
 *
 * Objects (runtimes, devices, kernels, prepared ops) are named by handles: numbers that are never
 * used again. A handle that is closed, of another kind or made up is an error, never a crash.
 * Functions return 0, or the code of an error, which diecast_last_error() tells in words. Every
 * structure of options begins with its size, so that a later library serves programs built against
 * an earlier one. Functions may be called from any number of threads. A forked child may go on with
 * the host device. Texts are UTF-8 and end in 0. */
#ifndef DIECAST_C_H
#define DIECAST_C_H

#include <diecast/c/abi.h>
#include <diecast/c/checkpoints.h>
#include <diecast/c/ops.h>
#include <diecast/c/packed_linear.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the library ---- */

DIECAST_C_API const char* diecast_version(void); /* "0.1.0" */

/* Tells of this thread's last call that failed; its texts live until the next one fails. A thread
 * whose calls all succeeded has code 0 and empty texts. Errors: invalid_argument (no structure, or
 * one of another size). */
DIECAST_C_API int32_t diecast_last_error(diecast_error* error);

/* The word of a code ("shape_mismatch"), and "unknown" for a number that is none. */
DIECAST_C_API const char* diecast_code_word(int32_t code);

/* Ends any object. A call of another thread that uses it is waited for. What was made of it (a
 * kernel of a runtime, an op on a device) goes on. Errors: invalid_argument (no such object; the
 * calling thread is within one of its calls, as an event callback is). */
DIECAST_C_API int32_t diecast_close(diecast_handle object);

/* ---- runtimes: from a template to a kernel ---- */

/* options may be null. Errors: invalid_argument (an environment variable or option that makes no
 * sense), those of the template directory. A cache that cannot be used is no error. */
DIECAST_C_API int32_t diecast_runtime_open(const diecast_runtime_options* options,
                                           diecast_handle* runtime);

/* Adds a template of the caller: NAME.cu, or a text under a name. The same text again is fine.
 * Errors: file_not_found, parse_error, file_exists (another text under a known name). */
DIECAST_C_API int32_t diecast_template_add(diecast_handle runtime, const char* path);
DIECAST_C_API int32_t diecast_template_add_text(diecast_handle runtime, const char* name,
                                                const char* text);
/* Adds a header of the caller, which templates include as <name>. Errors: those of
 * diecast_template_add, invalid_argument (no such name). */
DIECAST_C_API int32_t diecast_header_add(diecast_handle runtime, const char* name,
                                         const char* path);
/* Names, one a line, sorted; and what a template's header says, as JSON: parameters, sizes,
 * arguments, targets, its comment. Errors: unknown_template. */
DIECAST_C_API int32_t diecast_template_names(diecast_handle runtime, diecast_text* names);
DIECAST_C_API int32_t diecast_template_describe(diecast_handle runtime, const char* name,
                                                diecast_text* json);
/* Every specialization of the template's space that agrees with the spelling ("scale_rows IN=bf16 @
 * sm_90a"; without a target that of the host), one spelling a line. Errors: unknown_template,
 * value_not_allowed. */
DIECAST_C_API int32_t diecast_template_variants(diecast_handle runtime, const char* spelling,
                                                diecast_text* spellings);

/* The whole spelling of "NAME A=1 B=x @ TARGET", or, without a target, for a device. Errors:
 * unknown_template, unknown_parameter, value_not_allowed, value_missing, constraint_violated,
 * target_not_supported. */
DIECAST_C_API int32_t diecast_specialize(diecast_handle runtime, diecast_handle device,
                                         const char* spelling, diecast_text* whole);
/* The text that is compiled. */
DIECAST_C_API int32_t diecast_source(diecast_handle runtime, const char* spelling,
                                     diecast_text* source);
/* The PTX of a GPU's target, as NVRTC makes it now; and its machine code as text, by nvdisasm or
 * cuobjdump (DIECAST_NVDISASM, else of PATH or a toolkit). Errors: those of diecast_resolve,
 * target_not_supported (the host), process_failed (no disassembler). */
DIECAST_C_API int32_t diecast_ptx(diecast_handle runtime, const char* spelling, diecast_text* ptx);
DIECAST_C_API int32_t diecast_sass(diecast_handle runtime, const char* spelling,
                                   diecast_text* sass);
/* Finds the artifact in memory or in the cache, or compiles it. info and code (its machine code)
 * may be null. Errors: not_cached, frozen, compiler_unavailable, compile_failed,
 * target_not_supported. */
DIECAST_C_API int32_t diecast_resolve(diecast_handle runtime, const char* spelling,
                                      diecast_artifact_info* info, diecast_text* code);
/* Resolves every line of a manifest for the targets ("sm_90a,sm_100a"; null: the lines' own). One
 * that fails does not stop the others; the first error is returned, and `counts` says how many
 * there are. */
DIECAST_C_API int32_t diecast_warm(diecast_handle runtime, const char* manifest,
                                   const char* targets, diecast_warm_counts* counts);
/* Writes a bundle (.dcb) of what a manifest names for the targets. A runtime takes it as its cache:
 * "bundle:PATH", or pinned "bundle:PATH#sha256=DIGEST". digest, which may be null, gets that of the
 * file. Errors: the first of a line; io_error. */
DIECAST_C_API int32_t diecast_bundle_create(diecast_handle runtime, const char* manifest,
                                            const char* targets, const char* path,
                                            diecast_text* digest);
/* From now on a compile or a load is an error (late = 0) or an event (late = 1). */
DIECAST_C_API int32_t diecast_freeze(diecast_handle runtime, int32_t late);
/* Waits until everything compiled is in the cache. */
DIECAST_C_API int32_t diecast_flush(diecast_handle runtime);
DIECAST_C_API int32_t diecast_counters_read(diecast_handle runtime, diecast_counters* counters);
DIECAST_C_API int32_t diecast_cache_state(diecast_handle runtime, diecast_text* state);

/* ---- devices ---- */

/* This processor. threads: 0 = one a core. Errors: not_supported (built without it). */
DIECAST_C_API int32_t diecast_device_open_host(int32_t threads, diecast_handle* device);
/* Errors: driver_unavailable, no_device. */
DIECAST_C_API int32_t diecast_device_open_cuda(int32_t ordinal, diecast_handle* device);
DIECAST_C_API int32_t diecast_cuda_device_count(int32_t* count);
DIECAST_C_API int32_t diecast_device_info_read(diecast_handle device, diecast_device_info* info);

/* ---- any kernel ---- */

/* Specializes for the device, compiles or finds, and makes resident: "scale_rows IN=bf16". Errors:
 * those of diecast_specialize and diecast_resolve. */
DIECAST_C_API int32_t diecast_kernel_prepare(diecast_handle runtime, diecast_handle device,
                                             const char* spelling, diecast_handle* kernel);
DIECAST_C_API int32_t diecast_kernel_spelling(diecast_handle kernel, diecast_text* spelling);
/* The type and shape that the template gives a tensor, from the sizes of a call; `index` is the
 * place of its `arg` line. Errors: invalid_argument (no tensor has this name), value_missing (a
 * size that is not given), value_not_allowed (the shape has no value, as where it divides by zero).
 */
DIECAST_C_API int32_t diecast_kernel_output(diecast_handle kernel, const char* argument,
                                            const diecast_argument* sizes, size_t count,
                                            diecast_output* output);
/* Launches with arguments by the names of the template's `arg` lines, in any order. Tensors lie on
 * the kernel's device. A size that is left out is what the tensors' shapes say. The call never
 * compiles, loads or waits for the GPU. Errors: invalid_argument (a name that is not there, twice
 * or missing; an output in another tensor's memory), dtype_mismatch, misaligned, shape_mismatch,
 * missing_buffer, not_supported, not_resident. */
DIECAST_C_API int32_t diecast_kernel_launch(diecast_handle kernel,
                                            const diecast_argument* arguments, size_t count,
                                            void* stream);

/* Times every configuration of "NAME A=1 B=x" at each point of `sizes` ("rows=16 cols=4096", one a
 * line) on the device, and compares its results with the default's. on_record gets each record as
 * it comes: a line of a tuning file. The runtime chooses by them from then on. A tune that the
 * spelling gives is held. Errors: parse_error (sizes), those of Runtime::tune. */
DIECAST_C_API int32_t diecast_tune(diecast_handle runtime, diecast_handle device,
                                   const char* spelling, const char* sizes,
                                   diecast_line_callback on_record, void* user);
/* The same with arguments in place of what the header alone would make: the value of a scalar (f32
 * is 1 without it), a structure, a tensor that is read, such as indices, on the device and of the
 * shape that it has at each point. Errors: those of diecast_kernel_launch for an argument that is
 * wrong. */
DIECAST_C_API int32_t diecast_tune_given(diecast_handle runtime, diecast_handle device,
                                         const char* spelling, const char* sizes,
                                         const diecast_argument* given, size_t count,
                                         diecast_line_callback on_record, void* user);
/* Chooses by these records too, the text of a tuning file. Errors: parse_error (a line is none). */
DIECAST_C_API int32_t diecast_tuning_add(diecast_handle runtime, const char* records);

/* ---- ops: see diecast/c/ops.h for each one's structures and plain function ---- */

/* The op of a number, or of a name. Errors: not_supported (no such op). */
DIECAST_C_API int32_t diecast_op_describe(uint32_t op, const diecast_op_info** info);
DIECAST_C_API int32_t diecast_op_find(const char* name, uint32_t* op);
/* What the op would write for these inputs and options: one entry for each output that such a call
 * has, in the order of the structure's fields, scratch last. Outputs that the structure already has
 * do not matter. Errors: shape_mismatch (capacity, or inputs without outputs), those of the op. */
DIECAST_C_API int32_t diecast_op_outputs(uint32_t op, const void* tensors, const void* options,
                                         diecast_output* outputs, size_t capacity, size_t* count);
/* Checks a call whose tensors have shapes and types alone: their memory is never read, no device is
 * asked, nothing is compiled, and outputs may be left out. Errors: those of the op that no values
 * and no device decide. */
DIECAST_C_API int32_t diecast_op_check(diecast_handle runtime, uint32_t op, const void* tensors,
                                       const void* options);
/* Runs the op, prepared on first use. With `found_only` nothing is prepared: the call does nothing
 * and returns DIECAST_NOT_PREPARED where it would have to. device 0: the CUDA device of the current
 * context. stream: the device's; null for the host. Errors: those of the op in diecast's headers.
 */
DIECAST_C_API int32_t diecast_op_call(diecast_handle runtime, diecast_handle device, uint32_t op,
                                      const void* tensors, const void* options, void* stream,
                                      int32_t found_only);
/* Prepares for calls with tensors of these types, row lengths and alignments; outputs may be left
 * out. Afterwards diecast_op_run compiles, loads and waits for nothing. Errors: those of
 * diecast_op_check; those of compiling and loading. */
DIECAST_C_API int32_t diecast_op_prepare(diecast_handle runtime, diecast_handle device, uint32_t op,
                                         const void* tensors, const void* options,
                                         diecast_handle* prepared);
DIECAST_C_API int32_t diecast_op_run(diecast_handle prepared, const void* tensors,
                                     const void* options, void* stream);

/* ---- weights that ranks share ---- */

/* Casts shards of master weights to NVFP4: this rank writes its own codes, the ranks agree on
 * scales and amaxes, and the codes of all are gathered. The result is to the bit what
 * quantize_nvfp4 with `square` gives for each whole weight. Every rank calls with the same weights
 * and options; ranks null: there is one. Waits for the stream. The columnwise side is
 * transpose_nvfp4's. Errors: those of cast_master_weights_to_nvfp4
 * (diecast/ops/weights/master_weights.h), the same on every rank, and so are those of a rank's own
 * weights and options; driver_error (a function of `ranks` failed). A rank with a closed handle, or
 * without functions, fails alone. */
DIECAST_C_API int32_t diecast_cast_master_weights(diecast_handle runtime, diecast_handle device,
                                                  const diecast_master_weight* weights,
                                                  size_t count, const diecast_ranks* ranks,
                                                  const diecast_master_cast_options* options,
                                                  void* stream);

/* ---- checkpoints ---- */

/* A safetensors file, an index or a folder to NVFP4 or an MX format, as `diecast quantize` does.
 * options and report may be null. Errors: those of the command, value_not_allowed (an option's
 * word); nothing half-written is left. */
DIECAST_C_API int32_t diecast_quantize_folder(diecast_handle runtime, diecast_handle device,
                                              const char* input, const char* output,
                                              const diecast_quantize_folder_options* options,
                                              diecast_folder_report* report);

/* What diecast_quantize_folder would do, from the header alone: the plan as JSON, as `diecast
 * quantize
 * --dry-run --json` prints it. Errors: those of the command before it writes. */
DIECAST_C_API int32_t diecast_plan_folder(const char* input,
                                          const diecast_quantize_folder_options* options,
                                          diecast_text* plan);

/* Would engines load this folder of quantized weights? The report as JSON, as `diecast verify
 * --json` prints it. Errors: those of the command. */
DIECAST_C_API int32_t diecast_verify_folder(const char* folder, diecast_text* report);

/* Prepares to quantize weights as the config of a quantized folder says, the text of its
 * config.json: to the bits of that folder. options may be null. Errors: those of
 * QuantizeFor::prepare (diecast/checkpoint/quantize_for.h), dtype_mismatch. */
DIECAST_C_API int32_t diecast_quantize_for_prepare(diecast_handle runtime, diecast_handle device,
                                                   const char* config,
                                                   const diecast_new_weight* weights, size_t count,
                                                   const diecast_quantize_for_options* options,
                                                   diecast_handle* prepared);
/* What diecast_quantize_for_run writes, and the bytes of the workspace that it wants. outputs may
 * be null. Errors: shape_mismatch (capacity). */
DIECAST_C_API int32_t diecast_quantize_for_outputs(diecast_handle prepared,
                                                   diecast_stored_tensor* outputs, size_t capacity,
                                                   size_t* count, uint64_t* workspace_bytes);
/* The place of each output's weight among those that were prepared: a weight of no output is not
 * quantized and goes on as it is. Errors: shape_mismatch (capacity). */
DIECAST_C_API int32_t diecast_quantize_for_sources(diecast_handle prepared, size_t* weights,
                                                   size_t capacity);
/* Quantizes weights of the same types and shapes in the stream's order. outputs: dense tensors of
 * any type with as many bytes, each from a multiple of 16 bytes on. workspace: f32, or null where
 * it has no bytes. Allocates no device memory. Errors: those of QuantizeFor::run, shape_mismatch,
 * dtype_mismatch. */
DIECAST_C_API int32_t diecast_quantize_for_run(diecast_handle prepared,
                                               const diecast_new_weight* weights, size_t count,
                                               const diecast_tensor* const* outputs,
                                               size_t output_count, const diecast_tensor* workspace,
                                               void* stream);

#ifdef __cplusplus
}
#endif
#endif
