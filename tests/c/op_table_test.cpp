// The table of ops: every op of diecast is in it or said not to be, and what it says holds.
#include <diecast/base/text.h>
#include <diecast/ops/every_op.h>

#include <map>
#include <set>

#include "c/c_fixture.h"

namespace diecast {
namespace {

std::vector<const diecast_op_info*> every_info() {
  std::vector<const diecast_op_info*> out;
  const diecast_op_info* info = nullptr;
  for (std::uint32_t op = 1; diecast_op_describe(op, &info) == diecast_ok; ++op)
    out.push_back(info);
  return out;
}

// Numbers that programs are built with: a line is added, none is changed.
TEST(COpTable, KeepsItsNumbers) {
  const std::vector<std::string> names = {"quantize_nvfp4",       "dequantize_nvfp4",
                                          "fp4_dequantize",       "quantize_mx",
                                          "dequantize_mx",        "amax",
                                          "compute_fp4_scales",   "static_blockwise_fp4_fake_quant",
                                          "fp4_fake_quant_block", "gemm_nvfp4",
                                          "arrange_scales",       "transpose_codes",
                                          "transpose_nvfp4",      "quantize_nvfp4_grouped",
                                          "quantize_mx_grouped",  "pack_linear",
                                          "unpack_linear",        "linear",
                                          "linear_experts",       "combine_experts"};
  const auto infos = every_info();
  ASSERT_GE(infos.size(), names.size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    EXPECT_EQ(infos[i]->number, i + 1);
    if (i < names.size()) {
      EXPECT_EQ(infos[i]->name, names[i]);
    }
    std::uint32_t found = 0;
    EXPECT_EQ(diecast_op_find(infos[i]->name, &found), diecast_ok);
    EXPECT_EQ(found, infos[i]->number);
  }
  EXPECT_EQ(diecast_op_find("quantise_nvfp4", nullptr), diecast_invalid_argument);
  std::uint32_t none = 0;
  EXPECT_EQ(diecast_op_find("quantise_nvfp4", &none), diecast_not_supported);
  EXPECT_NE(testing::last_error().find("did you mean `quantize_nvfp4`?"), std::string::npos);
}

TEST(COpTable, HasEveryOpOfTheListButThoseOfCppAlone) {
  std::set<std::string_view> in_c, only_in_cpp;
  for (const diecast_op_info* info : every_info()) in_c.insert(info->name);
  for_each_op<EveryOpOfCppAlone>([&]<class Prepared>(std::type_identity<Prepared>) {
    only_in_cpp.insert(Prepared::Request::kName);
  });
  for_each_request([&]<class Request>(std::type_identity<Request>) {
    EXPECT_NE(in_c.count(Request::kName), only_in_cpp.count(Request::kName)) << Request::kName;
  });
}

TEST(COpTable, DescribesTheStructures) {
  const auto infos = every_info();
  const diecast_op_info& amax = *infos[diecast_op_amax - 1];
  EXPECT_EQ(sizeof(diecast_amax_tensors), sizeof(std::size_t) * (1 + amax.tensor_count));
  EXPECT_EQ(sizeof(diecast_amax_options), sizeof(std::int64_t) * (1 + amax.option_count));
  EXPECT_EQ(amax.tensors[amax.tensor_count - 1].role, DIECAST_OUTPUT);
  EXPECT_EQ(amax.options[0].words, std::string("tensor row column block tile"));
  EXPECT_EQ(diecast_amax_defaults().block, 16);
  EXPECT_EQ(diecast_quantize_nvfp4_defaults().sign_mask, kHadamardSigns);
  for (const diecast_op_info* info : infos) {
    std::set<std::string_view> names;
    std::size_t outputs = 0;
    for (std::size_t i = 0; i < info->tensor_count; ++i) {
      const diecast_op_tensor& tensor = info->tensors[i];
      EXPECT_TRUE(names.insert(tensor.name).second) << info->name << " " << tensor.name;
      EXPECT_NE(tensor.what, std::string());
      outputs += tensor.role == DIECAST_OUTPUT;
      const bool named = std::string_view(tensor.name).starts_with("out");
      EXPECT_EQ(named, tensor.role == DIECAST_OUTPUT) << info->name << " " << tensor.name;
    }
    EXPECT_GT(outputs, 0u) << info->name;
    for (std::size_t i = 0; i < info->option_count; ++i) {
      const diecast_op_option& option = info->options[i];
      EXPECT_TRUE(names.insert(option.name).second) << info->name << " " << option.name;
      EXPECT_EQ(option.kind == DIECAST_WORD, std::string_view(option.words) != "");
    }
  }
}

// The numbers of errors are the interface's, whatever order C++ has them in.
TEST(CCodes, KeepTheirNumbers) {
  const std::map<int, std::string> some = {
      {0, "unknown"},   {1, "invalid_argument"},  {8, "constraint_violated"},
      {13, "frozen"},   {19, "shape_mismatch"},   {28, "file_not_found"},
      {34, "internal"}, {35, "assertion_failed"}, {36, "unknown"}};
  for (const auto& [number, word] : some) EXPECT_EQ(diecast_code_word(number), word);
  std::set<std::string_view> words;
  for (int number = 1; number <= 35; ++number) words.insert(diecast_code_word(number));
#define DIECAST_CODE(name, text) EXPECT_EQ(words.count(#name), 1u) << #name;
  DIECAST_ERROR_CODES(DIECAST_CODE)
#undef DIECAST_CODE
}

}  // namespace
}  // namespace diecast
