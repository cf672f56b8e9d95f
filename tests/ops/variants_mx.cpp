// Runners of the MX templates.
#include <diecast/ops/reference/mx.h>

#include "ops/variant_case.h"

namespace diecast::variants {
namespace {

reference::MxFormula formula_of(const Specialization& s) {
  const std::string format = word_of(s, "FORMAT"), mode = word_of(s, "MODE");
  reference::MxFormula formula;
  formula.format = format == "mxfp4"        ? Format::mxfp4
                   : format == "mxfp8_e5m2" ? Format::mxfp8_e5m2
                                            : Format::mxfp8_e4m3;
  formula.mode = mode == "rceil"   ? reference::MxMode::rceil
                 : mode == "floor" ? reference::MxMode::floor
                 : mode == "ceil"  ? reference::MxMode::ceil
                                   : reference::MxMode::even;
  formula.nan_scale = word_of(s, "PROFILE") == "torchao";
  return formula;
}

}  // namespace

std::string quantize_mx_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  const auto want = reference::quantize_mx(x.on_host(), formula_of(s), false, false).value();
  const std::int64_t blocks = (one.cols + 31) / 32;
  const auto scales_want = laid_out(s, want.scales, one.rows, blocks);
  DeviceBuffer data(device, want.data.size() + spare_bytes(one, want.data.size()));
  DeviceBuffer scales(device, scales_want.size() + spare_bytes(one, scales_want.size()));
  const Rows rows = rows_of(device, one);
  const KernelArgument arguments[] = {
      x.argument(), KernelArgument::tensor(DType::u8, data.data_pointer()),
      KernelArgument::tensor(DType::e8m0, scales.data_pointer(), scale_argument_stride(s, blocks)),
      rows.argument, KernelArgument::size(one.cols)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  if (problem.empty()) problem = compare("scales", scales, scales_want.data(), scales_want.size());
  if (problem.empty()) problem = compare("data", data, want.data.data(), want.data.size());
  return problem;
}

std::string quantize_mx_tiles_difference(Kernel& kernel, const Case& one, const Bindings& tunes) {
  const Specialization& s = kernel.specialization();
  Device& device = kernel.device();
  Matrix x = input_matrix(device, one, dtype_of(s, "IN"), word_of(s, "ROWS"));
  const bool square = s.number("BLOCK_ROWS") == 32;
  const std::string direction = word_of(s, "DIRECTION");
  reference::MxSide across, down;
  ColumnScales down_scales = {};
  if (direction != "columnwise") {
    across = reference::quantize_mx(x.on_host(), formula_of(s), false, square).value();
    across.scales = laid_out(s, across.scales, one.rows, (one.cols + 31) / 32);
  }
  if (direction != "rowwise") {
    down = reference::quantize_mx(x.on_host(), formula_of(s), true, square).value();
    down_scales = column_scales(s, down.scales, one.cols, (one.rows + 31) / 32, "SCALES_T_APART");
  }
  DeviceBuffer data(device, across.data.size() + spare_bytes(one, across.data.size()));
  DeviceBuffer scales(device, across.scales.size() + spare_bytes(one, across.scales.size()));
  DeviceBuffer data_t(device, down.data.size() + spare_bytes(one, down.data.size()));
  DeviceBuffer scales_t(device,
                        down_scales.bytes.size() + spare_bytes(one, down_scales.bytes.size()));
  const Rows rows = rows_of(device, one);
  const KernelArgument arguments[] = {
      x.argument(),
      KernelArgument::tensor(DType::u8, data.data_pointer()),
      KernelArgument::tensor(DType::e8m0, scales.data_pointer(),
                             scale_argument_stride(s, (one.cols + 31) / 32)),
      KernelArgument::tensor(DType::u8, data_t.data_pointer()),
      KernelArgument::tensor(DType::e8m0, scales_t.data_pointer(),
                             scale_argument_stride(s, down_scales.row_length, "SCALES_T_APART")),
      rows.argument,
      KernelArgument::size(one.cols)};
  std::string problem = launch_and_wait(kernel, arguments, tunes);
  const auto same = [&](const char* name, const DeviceBuffer& got,
                        const std::vector<std::uint8_t>& want) {
    if (problem.empty()) problem = compare(name, got, want.data(), want.size());
  };
  same("scales", scales, across.scales);
  same("data", data, across.data);
  same("scales_t", scales_t, down_scales.bytes);
  same("data_t", data_t, down.data);
  return problem;
}

}  // namespace diecast::variants
