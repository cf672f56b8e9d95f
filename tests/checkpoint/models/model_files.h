// A model's folder as files: drawn weights, and the config.
#pragma once

#include <checkpoint/checkpoint_files.h>
#include <checkpoint/models/model_folder.h>

#include <string>

namespace diecast::testing {

// Weights are drawn from the seed. Those of quantized models are codes without NaN, and their
// scales powers of two.
TestFile model_file(const ModelFolder& folder, std::uint64_t seed);

// model.safetensors, and config.json where the folder has one.
void write_model(const ModelFolder& folder, std::uint64_t seed, const std::string& path);

}  // namespace diecast::testing
