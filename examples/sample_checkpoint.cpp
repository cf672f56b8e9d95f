// Writes a small checkpoint like a transformer's: bf16 weights of several shapes, normal values
// with outlier columns, norms, an embedding and a stack of experts. `sample_checkpoint FILE`
#include <diecast/checkpoint/safetensors_writer.h>
#include <diecast/ops/reference/numbers.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace diecast;

namespace {

TensorInfo bf16(std::string name, std::vector<std::uint64_t> shape) {
  TensorInfo info;
  info.name = std::move(name);
  info.dtype = StoredDType::bf16;
  info.shape = std::move(shape);
  return info;
}

std::vector<TensorInfo> transformer() {
  std::vector<TensorInfo> tensors = {bf16("model.embed_tokens.weight", {2048, 512}),
                                     bf16("model.norm.weight", {512}),
                                     bf16("lm_head.weight", {2048, 512})};
  for (int i = 0; i < 4; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    tensors.push_back(bf16(layer + "input_layernorm.weight", {512}));
    tensors.push_back(bf16(layer + "self_attn.q_proj.weight", {512, 512}));
    tensors.push_back(bf16(layer + "self_attn.k_proj.weight", {128, 512}));
    tensors.push_back(bf16(layer + "self_attn.v_proj.weight", {128, 512}));
    tensors.push_back(bf16(layer + "self_attn.o_proj.weight", {512, 512}));
    tensors.push_back(bf16(layer + "mlp.gate_proj.weight", {1408, 512}));
    tensors.push_back(bf16(layer + "mlp.up_proj.weight", {1408, 512}));
    tensors.push_back(bf16(layer + "mlp.down_proj.weight", {512, 1408}));
  }
  tensors.push_back(bf16("model.layers.4.mlp.gate.weight", {8, 512}));
  tensors.push_back(bf16("model.layers.4.mlp.experts.gate_up_proj.weight", {8, 768, 512}));
  return tensors;
}

std::vector<std::uint16_t> values_of(const TensorInfo& tensor, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uint64_t elements = 1;
  for (const std::uint64_t dim : tensor.shape) elements *= dim;
  const std::uint64_t cols = tensor.shape.back();
  const float spread = 1.0f / std::sqrt(static_cast<float>(cols));
  std::vector<std::uint16_t> values(elements);
  for (std::uint64_t i = 0; i < elements; ++i) {
    const bool outlier = i % cols % 97 == 13;  // whole columns stand out, as in real models
    values[i] = reference::encode_bf16(normal(random) * spread * (outlier ? 12.0f : 1.0f));
  }
  return values;
}

Result<void> write(const std::string& path) {
  DIECAST_TRY(SafetensorsHeader layout, lay_out(transformer(), {{"format", "pt"}}));
  DIECAST_TRY(SafetensorsWriter writer,
              SafetensorsWriter::create(path, std::move(layout), nullptr));
  std::uint64_t seed = 1;
  for (const TensorInfo& tensor : writer.layout().tensors) {
    const auto values = values_of(tensor, seed++);
    DIECAST_CHECK(writer.write(tensor, 0, std::as_bytes(std::span(values))));
  }
  return writer.commit();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fprintf(stderr, "usage: sample_checkpoint FILE\n");
    return 2;
  }
  const auto written = write(argv[1]);
  if (!written) std::fprintf(stderr, "%s\n", written.error().message().c_str());
  return written ? 0 : 1;
}
