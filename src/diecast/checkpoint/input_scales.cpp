// Numbers by name; see input_scales.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/floats.h>
#include <diecast/checkpoint/input_scales.h>
#include <diecast/checkpoint/safetensors.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace diecast {
namespace {

constexpr float kRange = 6 * 448;  // the largest value that one scale of NVFP4 reaches
constexpr std::string_view kAmax = ".input_amax", kScale = ".input_scale",
                           kReciprocal = ".input_global_scale";

Error bad(ErrorCode code, const std::string& path, std::string what, std::string_view fix) {
  return {code, cat(quote(path, 1000), ": ", what), std::string(fix)};
}

// Adds what one key says.
Result<void> add(const std::string& path, std::string_view key, double number, InputScales& out) {
  for (const std::string_view end : {kAmax, kScale, kReciprocal}) {
    if (!key.ends_with(end)) continue;
    const double scale = end == kAmax ? number / kRange : end == kScale ? number : 1 / number;
    const auto rounded = static_cast<float>(scale);
    if (!std::isfinite(rounded) || !(rounded > 0)) {
      return bad(ErrorCode::invalid_argument, path, cat(quote(key), " is no positive scale"),
                 "calibrate again, or take it out: the weight then has the default");
    }
    const std::string module(key.substr(0, key.size() - end.size()));
    if (out.emplace(module, rounded).second) return {};
    return bad(ErrorCode::invalid_argument, path, cat(quote(module), " has two keys"),
               "give one of input_amax, input_scale and input_global_scale");
  }
  return bad(ErrorCode::invalid_argument, path, cat(quote(key), " does not say what its number is"),
             "end each key in .input_amax, .input_scale (amax / 2688) or .input_global_scale "
             "(2688 / amax)");
}

Result<InputScales> read_json(const std::string& path, FileSystem& files) {
  constexpr std::uint64_t kLimit = 64 << 20;
  constexpr std::string_view kForm = "write {\"MODULE.input_amax\": 12.5, ..}, each key once";
  DIECAST_TRY(const Bytes bytes, read_file(files, path, kLimit));
  std::set<std::string> keys;
  bool twice = false, deep = false;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    deep = deep || depth > 1;
    if (event == nlohmann::json::parse_event_t::key)
      twice = twice || !keys.insert(value.get<std::string>()).second;
    return !deep;
  };
  const auto whole = nlohmann::json::parse(file_text(bytes), watch, false);
  if (!whole.is_object() || twice || deep)
    return bad(ErrorCode::file_corrupt, path, "no JSON object of numbers", kForm);
  InputScales out;
  for (const auto& [key, value] : whole.items()) {
    if (!value.is_number())
      return bad(ErrorCode::file_corrupt, path, cat(quote(key), " is no number"), kForm);
    DIECAST_CHECK(add(path, key, value.get<double>(), out));
  }
  return out;
}

Result<InputScales> read_tensors(const std::string& path, FileSystem& files) {
  DIECAST_TRY(const SafetensorsReader reader, SafetensorsReader::open(path, false, files));
  InputScales out;
  for (const TensorInfo& tensor : reader.header().tensors) {
    const auto type = float_dtype(tensor.dtype);
    if (!type || tensor.elements() != 1) {
      return bad(ErrorCode::dtype_mismatch, path,
                 cat(quote(tensor.name), " ", stored_dtype_name(tensor.dtype), " ",
                     shape_text(tensor.shape), " is not one F32, F16 or BF16 number"),
                 "store one number for each module");
    }
    Bytes bytes(tensor.bytes());
    DIECAST_CHECK(reader.read(tensor, 0, bytes));
    std::vector<float> number(1);
    widen(bytes, *type, number);
    DIECAST_CHECK(add(path, tensor.name, number[0], out));
  }
  return out;
}

// "a.up_proj" of a.up_proj.weight.
std::string module_of(const PlannedTensor& tensor) {
  std::string out = tensor.name;
  if (out.ends_with(kWeightSuffix)) out.resize(out.size() - kWeightSuffix.size());
  return out;
}

}  // namespace

Result<InputScales> read_input_scales(const std::string& path, FileSystem& files) {
  return path.ends_with(".json") ? read_json(path, files) : read_tensors(path, files);
}

Result<void> take_input_scales(const InputScales& scales, Plan& plan) {
  if (scales.empty()) return {};
  if (plan.form.format != WeightFormat::nvfp4) {
    return Error{ErrorCode::invalid_argument,
                 "input scales for a format in which engines do not quantize activations",
                 "leave them out, or take --format nvfp4"};
  }
  std::size_t given = 0, others = 0;
  std::set<std::string> used;
  for (const std::vector<std::size_t>& group : plan.groups) {
    if (is_mx(plan.tensors[group[0]].form.format)) continue;
    float largest = 0;
    for (const std::size_t i : group)
      if (const auto found = scales.find(module_of(plan.tensors[i])); found != scales.end()) {
        largest = std::max(largest, found->second);
        used.insert(found->first);
      }
    for (const std::size_t i : group)
      plan.tensors[i].input_scale = largest > 0 ? largest : plan.input_scale;
    (largest > 0 ? given : others) += group.size();
  }
  if (given == 0) {
    return Error{ErrorCode::invalid_argument,
                 cat("none of ", scales.size(), " input scales is of a weight to quantize, ",
                     quote(scales.begin()->first), " for one"),
                 "name modules as the checkpoint does: --dry-run lists its tensors"};
  }
  plan.calibrated = true;
  plan.notes.push_back(cat("the input_scale of ", given, given == 1 ? " weight" : " weights",
                           " was given, for themselves or what engines fuse them with; that of ",
                           others, " is ", plan.input_scale));
  const auto idle = std::ranges::find_if_not(
      scales, [&](const auto& entry) { return used.contains(entry.first); });
  if (idle == scales.end()) return {};
  plan.notes.push_back(cat(scales.size() - used.size(), " of ", scales.size(),
                           " input scales are of no weight that is quantized to NVFP4, ",
                           quote(idle->first), " for one"));
  return {};
}

}  // namespace diecast
