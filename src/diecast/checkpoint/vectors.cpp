// Reading and replaying reference vectors; what an option means stands in tests/golden/README.md.
#include <diecast/base/text.h>
#include <diecast/checkpoint/vectors.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace diecast {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownDifferences = 8;
constexpr std::uint64_t kCaseLimit = 256 << 20;  // bytes of one tensor: a case is held whole

struct Title {
  std::string_view part;  // of the title
  VectorProfile profile;
  std::string_view name;
  std::set<std::string_view> options;  // beside name, shape, dtype, dist, seed
};

const std::array<Title, 6>& titles() {
  static const std::array<Title, 6> kTitles = {{
      {"Transformer Engine",
       VectorProfile::te,
       "te",
       {"tile", "row_scaled", "columnwise", "four_over_six", "err_mode", "e4m3_max"}},
      {"torchao nvfp4_quantize", VectorProfile::torchao, "torchao", {"per_tensor"}},
      {"OCP MX", VectorProfile::mx, "mx", {"elem", "mode"}},
      {"miles PR 546", VectorProfile::pr546, "pr546", {"global_amax_given"}},
      {"ModelOpt Triton fake-quant", VectorProfile::modelopt_fake, "modelopt fake", {}},
      {"ModelOpt packed", VectorProfile::modelopt_packed, "modelopt packed", {}},
  }};
  return kTitles;
}

Error corrupt(std::string_view path, std::string what) {
  return {ErrorCode::file_corrupt, cat(quote(path, 1000), ": ", what),
          "give a file in the format of tests/golden/README.md"};
}

Error unknown(std::string_view path, std::string what) {
  return {
      ErrorCode::not_supported, cat(quote(path, 1000), ": ", what),
      "replay it with a version that knows it; tests/golden/README.md lists what this one reads"};
}

// The JSON text of a field, "" when there is none; strings bare.
std::string field(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  return found->is_string() ? found->get<std::string>()
                            : found->dump(-1, ' ', true, Json::error_handler_t::replace);
}

// Options beside name, shape and dtype: their names for every title, their values for te.
Result<void> parse_options(const Json& object, const Title& title, std::string_view path,
                           VectorCase& out) {
  static const std::set<std::string_view> kCommon = {"name", "shape", "dtype", "dist", "seed"};
  static const std::map<std::string, std::set<std::string>> kValues = {
      {"tile", {"[1,16]", "[16,16]"}},   {"row_scaled", {"true", "false"}},
      {"columnwise", {"true", "false"}}, {"four_over_six", {"true", "false"}},
      {"err_mode", {"MAE", "MSE"}},      {"e4m3_max", {"448", "256"}},
  };
  for (const auto& [key, value] : object.items()) {
    if (kCommon.count(key) != 0) continue;
    const auto values = kValues.find(key);
    const std::string text = field(object, key.c_str());
    const bool known = title.options.count(key) != 0 &&
                       (values == kValues.end() || values->second.count(text) != 0);
    if (known) continue;
    return unknown(path, cat("case ", quote(out.name), ": option ", quote(key, 60), " = ",
                             quote(text, 60), " is not known for ", title.name));
  }
  out.tile_16x16 = field(object, "tile") == "[16,16]";
  out.row_scaled = field(object, "row_scaled") == "true";
  out.columnwise = field(object, "columnwise") == "true";
  out.four_over_six = field(object, "four_over_six") == "true";
  return {};
}

Result<VectorCase> parse_case(const Json& object, const Title& title, std::string_view path) {
  VectorCase out;
  if (!object.is_object()) return corrupt(path, "a case is no JSON object");
  out.name = field(object, "name");
  const auto shape = object.find("shape");
  const std::optional<DType> type = parse_dtype(field(object, "dtype"));
  const bool is_float = type == DType::f32 || type == DType::f16 || type == DType::bf16;
  const auto is_dimension = [](const Json& value) { return value.is_number_unsigned(); };
  if (out.name.empty() || !is_float || shape == object.end() || !shape->is_array() ||
      shape->empty() || !std::all_of(shape->begin(), shape->end(), is_dimension)) {
    return corrupt(
        path, cat("case ", quote(out.name), " lacks a name, a shape or a dtype of f32, f16, bf16"));
  }
  out.dtype = *type;
  for (const Json& dim : *shape) out.shape.push_back(dim.get<std::uint64_t>());
  DIECAST_CHECK(parse_options(object, title, path, out));
  return out;
}

// Why a case cannot run yet; nothing for one that can.
std::string not_built(const VectorFile& file, const VectorCase& one) {
  if (file.profile != VectorProfile::te)
    return cat("profile ", vector_profile_name(file.profile), " is not built");
  if (one.tile_16x16) return "16x16 tiles are not built";
  if (one.columnwise) return "columnwise is not built";
  if (one.four_over_six) return "four_over_six is not built";
  if (one.shape.back() % 16 != 0)
    return "rows that end within a block are not part of a checkpoint";
  return {};
}

class Replay {
 public:
  Replay(const SafetensorsReader& file, const ConvertKernels& kernels)
      : file_(file), kernels_(kernels) {}
  Result<CaseResult> run(const VectorCase& one);

 private:
  Result<Bytes> load(const VectorCase& one, std::string_view what, StoredDType dtype,
                     std::uint64_t bytes) const;
  template <class Word>
  Result<void> expect(const VectorCase& one, std::string_view what, std::span<const Word> got,
                      CaseResult& out) const;

  const SafetensorsReader& file_;
  const ConvertKernels& kernels_;
};

Result<Bytes> Replay::load(const VectorCase& one, std::string_view what, StoredDType dtype,
                           std::uint64_t bytes) const {
  const std::string name = cat(one.name, "/", what);
  const TensorInfo* tensor = file_.header().find(name);
  if (tensor == nullptr) return corrupt(file_.path(), cat("tensor ", quote(name), " is missing"));
  if (tensor->dtype != dtype || tensor->bytes() != bytes) {
    return corrupt(file_.path(),
                   cat("tensor ", quote(name), " is ", stored_dtype_name(tensor->dtype), " of ",
                       tensor->bytes(), " bytes, not ", stored_dtype_name(dtype), " of ", bytes));
  }
  if (bytes > kCaseLimit)
    return corrupt(file_.path(), cat("tensor ", quote(name), " has ", bytes,
                                     " bytes, the limit is ", kCaseLimit));
  Bytes out(bytes);
  DIECAST_CHECK(file_.read(*tensor, 0, out));
  return out;
}

template <class Word>
Result<void> Replay::expect(const VectorCase& one, std::string_view what, std::span<const Word> got,
                            CaseResult& out) const {
  const StoredDType dtype = sizeof(Word) == 1 ? StoredDType::u8 : StoredDType::f32;
  DIECAST_TRY(const Bytes bytes, load(one, what, dtype, got.size_bytes()));
  for (std::size_t i = 0; i < got.size(); ++i) {
    Word expected;
    std::memcpy(&expected, bytes.data() + i * sizeof expected, sizeof expected);
    if (expected == got[i]) continue;
    ++out.differing;
    if (out.differences.size() < kShownDifferences) {
      out.differences.push_back({std::string(what), i, expected, got[i]});
    }
  }
  return {};
}

Result<CaseResult> Replay::run(const VectorCase& one) {
  CaseResult out;
  out.name = one.name;
  const StoredDType stored = stored_dtype(one.dtype);
  const TensorSize size = tensor_size(stored, one.shape);
  if (!size.fault.empty())
    return corrupt(file_.path(), cat("case ", quote(one.name), ", shape ", shape_text(one.shape),
                                     ": ", size.fault));
  DIECAST_TRY(const Bytes x, load(one, "x", stored, size.bytes));
  const std::uint64_t elements =
      size.bytes * 8 / static_cast<std::uint64_t>(stored_dtype_bits(stored));
  const auto cols = static_cast<std::int64_t>(one.shape.back());
  const auto rows = cols == 0 ? 0 : static_cast<std::int64_t>(elements) / cols;

  std::vector<std::uint8_t> codes(elements / 2), scales(elements / 16);
  std::vector<float> amax(one.row_scaled ? static_cast<std::size_t>(rows) : 1);
  const auto code_bytes = std::as_writable_bytes(std::span(codes));
  const auto scale_bytes = std::as_writable_bytes(std::span(scales));
  if (one.row_scaled) {
    DIECAST_CHECK(
        kernels_.quantize_row_scaled(x, one.dtype, rows, cols, code_bytes, scale_bytes, amax));
  } else {
    DIECAST_TRY(amax[0], kernels_.amax(x, one.dtype, rows, cols));
    DIECAST_CHECK(kernels_.quantize(x, one.dtype, rows, cols, amax[0], code_bytes, scale_bytes));
  }
  std::vector<std::uint32_t> amax_bits(amax.size());
  std::memcpy(amax_bits.data(), amax.data(), amax.size() * sizeof(float));
  DIECAST_CHECK(expect<std::uint32_t>(one, "amax", amax_bits, out));
  DIECAST_CHECK(expect<std::uint8_t>(one, "scale", scales, out));
  DIECAST_CHECK(expect<std::uint8_t>(one, "data", codes, out));
  out.state = out.differing == 0 ? CaseResult::State::passed : CaseResult::State::failed;
  return out;
}

}  // namespace

std::string_view vector_profile_name(VectorProfile profile) {
  for (const Title& title : titles()) {
    if (title.profile == profile) return title.name;
  }
  return "";
}

Result<VectorFile> parse_vectors(const SafetensorsHeader& header, std::string_view path) {
  const auto text = header.metadata.find("title");
  const auto cases = header.metadata.find("cases");
  if (text == header.metadata.end() || cases == header.metadata.end()) {
    return corrupt(path, "its metadata has no title and cases: these are no reference vectors");
  }
  const auto title = std::find_if(titles().begin(), titles().end(), [&](const Title& known) {
    return text->second.find(known.part) != std::string::npos;
  });
  if (title == titles().end()) {
    return unknown(path, cat("title ", quote(text->second), " names no profile that is known"));
  }
  const Json list = Json::parse(cases->second, nullptr, false);
  if (!list.is_array()) return corrupt(path, "the metadata's cases are no JSON list");
  VectorFile file{text->second, title->profile, {}};
  for (const Json& object : list) {
    DIECAST_TRY(VectorCase one, parse_case(object, *title, path));
    file.cases.push_back(std::move(one));
  }
  return file;
}

std::size_t VectorReport::count(CaseResult::State state) const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseResult& one) { return one.state == state; }));
}

Result<VectorReport> check_vectors(const SafetensorsReader& file, const ConvertKernels& kernels) {
  DIECAST_TRY(const VectorFile vectors, parse_vectors(file.header(), file.path()));
  Replay replay(file, kernels);
  VectorReport report{vectors.title, {}};
  for (const VectorCase& one : vectors.cases) {
    if (const std::string reason = not_built(vectors, one); !reason.empty()) {
      CaseResult skipped;
      skipped.name = one.name;
      skipped.state = CaseResult::State::skipped;
      skipped.reason = reason;
      report.cases.push_back(std::move(skipped));
      continue;
    }
    DIECAST_TRY(CaseResult result, replay.run(one));
    report.cases.push_back(std::move(result));
  }
  return report;
}

}  // namespace diecast
