// What a calibration has found: by how much engines scale the activations of each weight.
#pragma once

#include <diecast/base/error.h>
#include <diecast/base/file.h>
#include <diecast/checkpoint/plan.h>

#include <string>

namespace diecast {

// Of a .json file, an object of numbers, or else of a .safetensors file, tensors of one number
// (F32, F16, BF16). A key says what its number is: M.input_amax, the largest magnitude of the
// inputs of module M; M.input_scale = amax / 2688, ModelOpt's; M.input_global_scale = 2688 / amax,
// compressed-tensors'. Gives amax / 2688. Errors: io_error, file_corrupt (neither form, a key given
// twice), invalid_argument (a key of another end, a module with two keys, a number that is no
// positive scale), dtype_mismatch (another type).
Result<InputScales> read_input_scales(const std::string& path, FileSystem& files = system_files());

// Gives every quantized weight of the plan its own: weights that share an amax, and so their
// inputs, the largest of theirs, those without any the plan's default; and notes how many have
// which, and how many scales are of no such weight. Errors: invalid_argument (no weight of the plan
// has one, or no activations are quantized).
Result<void> take_input_scales(const InputScales& scales, Plan& plan);

}  // namespace diecast
