// Reading reference vectors, and which replay is whose; what an option means stands in
// tests/golden/README.md.
#include <diecast/base/text.h>
#include <diecast/checkpoint/safetensors_header.h>
#include <diecast/checkpoint/vectors.h>
#include <diecast/checkpoint/vectors/replay.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace diecast {
namespace {

using Json = nlohmann::json;
using Replay = Result<void> (*)(CaseReplay&);

// Whose bits a file holds.
struct Title {
  std::string_view part;  // of the file's title
  std::string_view name;
  std::set<std::string_view> options;  // beside name, shape, dtype, dist, seed
  Replay replay;
};

const std::array<Title, 6>& titles() {
  static const auto& kTitles = *new std::array<Title, 6>{{
      {"Transformer Engine",
       "te",
       {"tile", "row_scaled", "columnwise", "four_over_six", "err_mode", "e4m3_max"},
       replay_te},
      {"torchao nvfp4_quantize", "torchao", {"per_tensor"}, replay_torchao},
      {"OCP MX", "mx", {"elem", "mode"}, replay_mx},
      {"miles PR 546", "pr546", {"global_amax_given"}, replay_pr546},
      {"ModelOpt Triton fake-quant", "modelopt fake", {}, replay_modelopt_fake},
      {"ModelOpt packed", "modelopt packed", {}, replay_modelopt},
  }};
  return kTitles;
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

// Options beside name, shape and dtype: their names, and the values of those that are flags or
// words.
Result<void> parse_options(const Json& object, const Title& title, std::string_view path,
                           VectorCase& out) {
  static const auto& kCommon =
      *new std::set<std::string_view>{"name", "shape", "dtype", "dist", "seed"};
  static const auto& kValues = *new std::map<std::string, std::set<std::string>>{
      {"tile", {"[1,16]", "[16,16]"}},    {"row_scaled", {"true", "false"}},
      {"columnwise", {"true", "false"}},  {"four_over_six", {"true", "false"}},
      {"err_mode", {"MAE", "MSE"}},       {"e4m3_max", {"448", "256"}},
      {"elem", {"e4m3", "e5m2", "e2m1"}}, {"mode", {"RCEIL", "FLOOR", "CEIL", "EVEN"}},
      {"per_tensor", {"true", "false"}},  {"global_amax_given", {"true", "false"}},
  };
  for (const auto& [key, value] : object.items()) {
    if (kCommon.count(key) != 0) continue;
    const auto values = kValues.find(key);
    const std::string text = field(object, key.c_str());
    const bool known = title.options.count(key) != 0 &&
                       (values == kValues.end() || values->second.count(text) != 0);
    if (known) {
      out.options.emplace(key, text);
      continue;
    }
    return unknown(path, cat("case ", quote(out.name), ": option ", quote(key, 60), " = ",
                             quote(text, 60), " is not known for ", title.name));
  }
  for (const char* option : {"err_mode", "e4m3_max"}) {
    if (out.word(option).empty() || out.flag("four_over_six")) continue;
    return corrupt_vectors(path, cat("case ", quote(out.name), ": ", option,
                                     " without four_over_six, which it is an option of"));
  }
  return {};
}

Result<VectorCase> parse_case(const Json& object, const Title& title, std::string_view path) {
  VectorCase out;
  if (!object.is_object()) return corrupt_vectors(path, "a case is no JSON object");
  out.name = field(object, "name");
  const auto shape = object.find("shape");
  const std::optional<DType> type = parse_dtype(field(object, "dtype"));
  const bool is_float = type == DType::f32 || type == DType::f16 || type == DType::bf16;
  const auto is_dimension = [](const Json& value) { return value.is_number_unsigned(); };
  if (out.name.empty() || !is_float || shape == object.end() || !shape->is_array() ||
      shape->empty() || !std::all_of(shape->begin(), shape->end(), is_dimension)) {
    return corrupt_vectors(
        path, cat("case ", quote(out.name), " lacks a name, a shape or a dtype of f32, f16, bf16"));
  }
  out.dtype = *type;
  for (const Json& dim : *shape) out.shape.push_back(dim.get<std::uint64_t>());
  DIECAST_CHECK(parse_options(object, title, path, out));
  return out;
}

struct VectorFile {
  std::string title;
  const Title* whose;
  std::vector<VectorCase> cases;
};

Result<VectorFile> parse_vectors(const SafetensorsHeader& header, std::string_view path) {
  const auto text = header.metadata.find("title");
  const auto cases = header.metadata.find("cases");
  if (text == header.metadata.end() || cases == header.metadata.end()) {
    return corrupt_vectors(path,
                           "its metadata has no title and cases: these are no reference vectors");
  }
  const auto title = std::find_if(titles().begin(), titles().end(), [&](const Title& known) {
    return text->second.find(known.part) != std::string::npos;
  });
  if (title == titles().end()) {
    return unknown(path, cat("title ", quote(text->second), " names no profile that is known"));
  }
  bool deep = false;  // what is written out again is by a function that calls itself
  const auto shallow = [&deep](int depth, Json::parse_event_t, Json&) {
    return !(deep = deep || depth > kHeaderDepthLimit);
  };
  const Json list = Json::parse(cases->second, shallow, false);
  if (deep)
    return corrupt_vectors(
        path, cat("the metadata's cases nest deeper than ", kHeaderDepthLimit, " levels"));
  if (!list.is_array()) return corrupt_vectors(path, "the metadata's cases are no JSON list");
  VectorFile file{text->second, title, {}};
  std::set<std::string, std::less<>> names;
  for (const Json& object : list) {
    DIECAST_TRY(VectorCase one, parse_case(object, *title, path));
    if (!names.insert(one.name).second)
      return corrupt_vectors(path, cat("case ", quote(one.name), " is listed twice"));
    file.cases.push_back(std::move(one));
  }
  if (names.empty()) return corrupt_vectors(path, "the metadata's list of cases is empty");
  for (const TensorInfo& tensor : header.tensors) {
    const std::string_view name = tensor.name;
    if (const std::size_t slash = name.rfind('/');
        slash == name.npos || !names.contains(name.substr(0, slash)))
      return corrupt_vectors(path, cat("tensor ", quote(name), " is of no case"));
  }
  return file;
}

void fail_if_too_many_are_near(VectorReport& report) {
  std::uint64_t near = 0, all = 0;
  for (const CaseResult& one : report.cases) {
    near += one.near;
    all += one.of_near;
  }
  if (near * 1000 <= all) return;
  for (CaseResult& one : report.cases) {
    if (one.near > 0) one.state = CaseResult::State::failed;
    one.differing += one.near;
  }
}

// `under`: what is said of it beside the case's name.
Result<CaseResult> replayed(const SafetensorsReader& file, const VectorKernels& kernels,
                            const VectorCase& one, Replay replay, std::string_view under = "") {
  CaseReplay each(file, kernels, one);
  DIECAST_CHECK(replay(each));
  CaseResult result = each.result();
  result.name += under;
  return result;
}

}  // namespace

std::size_t VectorReport::count(CaseResult::State state) const {
  return static_cast<std::size_t>(std::count_if(
      cases.begin(), cases.end(), [&](const CaseResult& one) { return one.state == state; }));
}

Result<VectorReport> check_vectors(
    const SafetensorsReader& file, const VectorKernels& kernels,
    const std::function<void(std::size_t done, std::size_t total)>& progress) {
  DIECAST_TRY(const VectorFile vectors, parse_vectors(file.header(), file.path()));
  VectorReport report{vectors.title, {}};
  std::size_t done = 0;
  for (const VectorCase& one : vectors.cases) {
    DIECAST_TRY(report.cases.emplace_back(), replayed(file, kernels, one, vectors.whose->replay));
    if (vectors.whose->replay == replay_te && !one.flag("four_over_six")) {
      DIECAST_TRY(report.cases.emplace_back(),
                  replayed(file, kernels, one, replay_te_ref, ", te_ref"));
    }
    if (progress) progress(++done, vectors.cases.size());
  }
  fail_if_too_many_are_near(report);
  return report;
}

}  // namespace diecast
