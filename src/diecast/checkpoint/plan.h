// What becomes of every tensor of a checkpoint, decided from its header alone and in one place. The
// plan is data: a tool prints it (--dry-run stops there), convert() carries it out.
#pragma once

#include <diecast/base/error.h>
#include <diecast/checkpoint/checkpoint_header.h>
#include <diecast/checkpoint/select/model_config.h>
#include <diecast/checkpoint/stored_form.h>
#include <diecast/ops/nvfp4/quantize_nvfp4.h>
#include <diecast/ops/quantized_tensor.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

inline constexpr std::string_view kWeightSuffix = ".weight";  // of the tensors that are quantized

// Those that weights are quantized under. A scale_2 means the same to all of them.
inline constexpr Profile kCheckpointProfiles[] = {Profile::te, Profile::pr546, Profile::modelopt,
                                                  Profile::torchao, Profile::te_ref};
std::vector<std::string> checkpoint_profile_names();

// How weights are quantized. Four over six is profile te's.
struct Nvfp4Scheme {
  Profile profile = Profile::te;
  FourOverSix four_over_six = FourOverSix::off;
  int e4m3_bound = 448;  // 448; 256 with four over six, or modelopt

  QuantizedType type(bool row_scaled = false) const {
    return {.profile = profile,
            .row_scaled = row_scaled,
            .e4m3_bound = static_cast<std::uint16_t>(e4m3_bound)};
  }
};
// What a weight's scale_2 is under its amax. te, pr546 and te_ref: 1 / S with S = min(6 * bound /
// amax, FLT_MAX), or 1 where that is no scale (amax infinite or, but for te_ref, 0); modelopt and
// torchao: amax times the rounded 1 / (6 * bound). A NaN amax (all but te) gives NaN. What
// FlashInfer stores of a row's amax: flashinfer_exact as te_ref, flashinfer_fast as modelopt, a
// zero for what is subnormal, and so for a row of zeros.
float decode_scale(const Nvfp4Scheme& scheme, float amax);

// Why dequantizing copies a weight that another tool has quantized.
inline constexpr std::string_view kStaysQuantized = "stays quantized";

// Which of the language model's weights are quantized: all; experts; these and other MLPs; these
// and the projections behind attention.
enum class WeightRecipe : std::uint8_t { all, experts, mlp, mlp_o };
constexpr auto words_of(WeightRecipe) {
  return std::to_array<std::string_view>({"default", "experts", "mlp", "mlp+o"});
}

enum class Action : std::uint8_t { copy, quantize, dequantize };
std::string_view action_name(Action action);

// A quantized weight as kernels see it: `matrices` (experts) of rows x cols, each with a global
// scale of its own; rank 2 is one matrix.
struct Matrices {
  std::uint64_t matrices = 1, rows = 0, cols = 0;
};

// Where a weight's values lie in a tensor of all experts, or transposed. Its element (r, c) is
// element first + r * row_step + c * col_step there; of several matrices, the m-th begins m *
// matrix_step behind the first.
struct Placement {
  std::string tensor;
  std::uint64_t first = 0, row_step = 0, col_step = 1, matrix_step = 0;
};

enum class CodeForm : std::uint8_t { fp8, mxfp4, int4, nvfp4 };

// Where the values of a weight lie that is quantized in another form: codes, and row by row a scale
// for each block.
struct ScaledSource {
  std::string scales;
  std::uint64_t block_rows = 0, block_cols = 0;
  std::string codes;  // the tensor
  CodeForm kind = CodeForm::fp8;
  bool of_experts = false;  // codes and scales of rows; the tensor that they stand for has columns
  // nvfp4: the tensors of its global scales, that of inputs empty where there is none.
  std::string global{}, input{};
};

// By module ("model.layers.0.mlp.up_proj"): what engines scale its inputs by, amax / 2688.
using InputScales = std::map<std::string, float>;

// How a tool's NVFP4 lies that has ModelOpt's names: its block scales, and which of two values a
// byte has in its low bits.
struct Nvfp4Layout {
  ScaleLayout scales = ScaleLayout::linear;
  bool high_first = false;  // the second
};

struct PlannedTensor {
  std::string name;
  StoredDType dtype = StoredDType::u8;  // of the input
  std::vector<std::uint64_t> shape;     // of the input
  std::uint32_t file = 0;               // of the input; what it becomes is in the output's same
  Action action = Action::copy;
  std::string reason;                  // copy: why, in words
  Matrices matrices;                   // quantize, dequantize
  DType to = DType::bf16;              // dequantize: what it becomes
  bool row_scaled = false;             // quantize, dequantize: one global scale a row
  std::optional<Placement> place;      // quantize: in the input; dequantize: in the output
  std::optional<ScaledSource> scaled;  // its values are such; else those of its type, or NVFP4
  StoredForm form;                     // quantize: what it becomes; dequantize: of its NVFP4
  Nvfp4Layout layout;                  // of its NVFP4 in the input
  std::optional<Fp8Form> fp8;          // copy: an FP8 weight that stays so, with its scales
  bool fused = false;  // its NVFP4 is that of all experts in one tensor, under one global scale

  float input_scale = 1.0f;  // quantize: what engines scale its inputs by

  const std::string& stored_in() const { return place ? place->tensor : name; }
};

// A tensor of the input that holds one matrix of each expert, and becomes a weight for each.
struct SplitTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  bool columns = false;  // each matrix lies transposed
  std::uint32_t file = 0;
};

struct Plan {
  std::vector<PlannedTensor> tensors;            // by name
  std::vector<SplitTensor> split;                // by name; their parts are among the tensors
  std::vector<std::vector<std::size_t>> groups;  // quantized tensors that share their amaxes
  std::vector<std::string> notes;                // what the user should know, a sentence each
  std::string scope;                             // among which weights those to quantize are
  std::vector<SafetensorsHeader> outputs;        // of the files to write: one a file of the input
  bool allow_nonfinite = false;                  // NaN and infinite values are no errors
  Nvfp4Scheme scheme;                            // quantize
  StoredForm form;                               // quantize: of all but those of another format
  float input_scale = 1.0f;                      // quantize: of weights that none is given for
  bool calibrated = false;                       // some are
  bool converted = false;                        // NVFP4 of other names; nothing is quantized anew
};

// What becomes of all experts of a layer in one tensor.
enum class ExpertForm : std::uint8_t { split, fused };
constexpr auto words_of(ExpertForm) { return std::to_array<std::string_view>({"split", "fused"}); }

struct QuantizeOptions {
  bool row_scaled = false;  // one amax and one weight_scale_2 a row
  // A last dimension that is no multiple of 16, a matrix of another name, experts in one tensor, or
  // a glob that matches nothing is an error.
  bool strict = false;
  // What is left of a model that engines would not load: one that is quantized already in part, a
  // part of a fused module, nothing quantized.
  bool force = false;
  bool allow_nonfinite = false;  // weights that have NaN and infinite values are quantized too
  bool keep_fp8 = false;         // FP8 weights that are not quantized stay FP8, not BF16
  Nvfp4Scheme scheme;
  ModelConfig model;  // what the model's config says
  WeightRecipe recipe = WeightRecipe::all;
  std::uint64_t first_layers = 0, last_layers = 0;  // of each stack that are copied
  std::optional<WeightFormat> format;               // none: nvfp4, but no cast of gpt-oss
  std::optional<EngineConfig> config;               // none: the one that most engines read
  ExpertForm experts = ExpertForm::split;
  std::optional<Nvfp4Layout> layout;  // of NVFP4 with ModelOpt's names that is to be converted
  float input_scale = 1.0f;           // amax / 2688 of activations; finite, greater than 0
  InputScales input_scales;           // of some weights, in its place
  // Globs; `*` also crosses dots. Each takes the whole of a module that engines make of what it
  // matches (q_proj, k_proj and v_proj; all experts of a layer).
  std::vector<std::string> include;  // quantized wherever and whatever they are
  std::vector<std::string> keep;     // not quantized unless included
  std::vector<std::string> exclude;  // not quantized in any case
  std::vector<std::string> mxfp8;    // those of these that are quantized become MXFP8, beside NVFP4
};

// A glob that matches this name, to be typed between double quotes: what glob, shell or terminal
// would take for something else is a `?`, and the end of a long name a `*`.
std::string glob_of(std::string_view name);

// Weights of rank 2 (`*.weight`; F32, F16, BF16) in the language model's repeated layers are
// quantized (select/language_model.h), but for those of the keep list (select/keep_list.h); all
// else is copied with a reason. A last dimension that is no multiple of 16, a matrix of 64x64 or
// more that has not the name of a weight, and experts in one tensor are noted (strict:
// shape_mismatch). Projections that engines fuse (select/families.h) share one amax, in rank 3 one
// an expert; they are quantized together or not at all, as are all experts of a layer.
// Which file of several has a weight changes nothing of this. Row-scaled weights share nothing:
// every row has its own scale. Each quantized X.weight becomes
//   X.weight          U8       [.., K/2]    two E2M1 codes a byte, the first in the low nibble
//   X.weight_scale    F8_E4M3  [.., K/16]
//   X.weight_scale_2  F32      []           the decode scale 1/S; rank 3: [E]; row-scaled: [..]
//   X.input_scale     F32      []           as given (input_scales.h); rank 3: [E], row-scaled: [];
//   weights only: none
// with compressed-tensors' config X.weight_packed, X.weight_scale, X.weight_global_scale F32 [1] =
// S and X.input_global_scale F32 [1], each the reciprocal, rounded once; or, in MX formats, whose
// names are their config's:
//   X.weight          F8_E4M3  [.., K]      mxfp8
//   X.weight_packed   U8       [.., K/2]    mxfp4: codes as above
//   X.weight_scale    U8       [.., K/32]   E8M0; for sglang X.weight_scale_inv
// Of a gpt-oss its experts X [E, K, N] alone are quantized, to MXFP4 unless a format is given:
//   X_blocks          U8       [E, N, K/32, 16]
//   X_scales          U8       [E, N, K/32]
// A model of NVFP4, ours or another tool's, is converted where `config` asks for other
// names: codes and block scales to the bit, global scales as they are or one rounded reciprocal,
// and the input scales with them; its metadata stay. So is another tool's with ModelOpt's names
// whose matrices lie as `layout` says: scales become linear, and of two codes the first has the low
// bits. FP8 and INT4 weights with scales are read as the values that they stand for, and MXFP4 is
// cast without rounding (convert_cast.h); those that are not quantized become BF16
// (Action::dequantize), and the scales are gone; FP8 may stay so (select/kept_fp8.h). All experts
// of a layer in one tensor (P.experts.gate_up_proj and its like, of rows or of columns, as their
// shapes tell) become a weight for each expert (select/fused_experts.h). ExpertForm::fused leaves X
// [E, K, N], of columns, one tensor, as ModelOpt does, and so are MXFP4 experts of gpt-oss cast:
//   X                 U8       [E, K/2, N]   codes of inputs 2k (low nibble) and 2k+1
//   X_weight_scale    F8_E4M3  [E, K/16, N]
//   X_weight_scale_2  F32      []            one for all experts
//   X_input_scale     F32      []
// Errors: invalid_argument (a name of these exists already; our metadata; nothing to quantize; no
// layers, or several language models; under strict a glob that matches nothing; an input_scale that
// is no positive number), not_supported (a
// model that another tool has quantized; a layout that no matrix has; a format with another's
// config or scheme; MXFP4 experts of gpt-oss where no format is given; experts of rows, or
// row-scaled ones, that shall stay fused; a profile that is none of kCheckpointProfiles, four over
// six or a bound that the profile has not), shape_mismatch (an included weight without what engines
// fuse it with; experts in one tensor whose shapes do not fit), file_corrupt (a half of these;
// codes without scales, unless forced; scales of another shape than the weight's or the config's).
Result<Plan> plan_quantize(const CheckpointHeader& header, const QuantizeOptions& options = {});

// The same of a checkpoint's header with what its config.json says (options.model is replaced), and
// the shapes that packed integers say. Errors: io_error, file_corrupt (another shape) too.
Result<Plan> plan_quantize(const Checkpoint& checkpoint, QuantizeOptions options = {},
                           FileSystem& files = system_files());

// Every weight quantized as above becomes floating point again: in the type the metadata names,
// else in `to`, and metadata and names are what they were. A file without our metadata (another
// tool's) is read by its tensors and needs `to`: U8 weights with an F8_E4M3 weight_scale and a
// weight_scale_2 are NVFP4, as are those of all experts in one tensor and compressed-tensors'
// weight_packed with a weight_global_scale; weights in the forms of
// select/fp8_source.h and select/packed_source.h are read; others with scales are copied, with a
// note, as is a pre_quant_scale, which is not applied. `layout`: how matrices of NVFP4 with
// ModelOpt's names lie; none: linear scales and the first value in the low bits, which a note says
// where no tool is named that is known to write so. The plan allows NaN and infinite values,
// which convert() counts. Errors: value_missing (no type), file_corrupt (parts that are missing or
// do not fit; codes without scales), not_supported (another format, form or profile, or ComfyUI's
// without a layout; tiles of experts in one tensor), invalid_argument (nothing is quantized; a
// layout of what is ours).
Result<Plan> plan_dequantize(const CheckpointHeader& header, std::optional<DType> to = {},
                             const ModelConfig& model = {}, std::optional<Nvfp4Layout> layout = {});
Result<Plan> plan_dequantize(const Checkpoint& checkpoint, std::optional<DType> to = {},
                             std::optional<Nvfp4Layout> layout = {},
                             FileSystem& files = system_files());

// Metadata a quantized file carries; everything else in the metadata is the input's, but for a
// "format" of "pt" where it has none.
inline constexpr std::string_view kFormatKey = "diecast.format";    // "nvfp4", "mxfp8", "mxfp4"
inline constexpr std::string_view kProfileKey = "diecast.profile";  // "te", "pr546", ...
inline constexpr std::string_view kFourOverSixKey = "diecast.four_over_six";  // "mae"; not "off"
inline constexpr std::string_view kBoundKey = "diecast.e4m3_bound";           // "256"; not "448"
inline constexpr std::string_view kDtypesKey = "diecast.dtypes";  // {"X.weight":"BF16",..}
// {"P.experts.down_proj":{"columns":false,"shape":[8,64,32]},..}: tensors that were split
inline constexpr std::string_view kExpertsKey = "diecast.experts";

}  // namespace diecast
