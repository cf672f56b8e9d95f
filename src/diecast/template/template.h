// A template: one .cu file, three parts (prose, header, code). The header is the declaration of
// everything that may vary, of the kernel's arguments and of how it is launched; see
// templates/README.md for the language. Parsing needs no compiler, no GPU and no disk.
#pragma once

#include <diecast/base/enum_words.h>
#include <diecast/base/error.h>
#include <diecast/base/hash.h>
#include <diecast/template/expr.h>
#include <diecast/template/target.h>
#include <diecast/template/value.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

class TemplateFiles;

// Where a line of a header stands: in the template's own file or in a device header that it uses.
struct Place {
  std::string file;  // "scale_rows.cu", "diecast/device/scales/scale_layout.h"
  int line = 0;
  std::string text() const;  // "scale_rows.cu:12"
};

struct Parameter {
  enum class Kind : std::uint8_t { shape, option, tune };
  friend constexpr auto words_of(Kind) {
    return std::to_array<std::string_view>({"shape", "option", "tune"});
  }
  Kind kind = Kind::option;
  ParameterType type = ParameterType::integer;
  // What the values of a tune may do to sums: nothing, or round them in another order. Then one
  // value serves all sizes unless the line says that it goes by sizes.
  enum class Sums : std::uint8_t { same, approx, approx_by_sizes };
  Sums sums = Sums::same;
  std::string name;               // UPPER CASE: fixed at compile time; lower case: read at launch
  std::vector<Value> allowed;     // empty: any integer >= 0 (shapes), any integer, any
                                  // finite float
  std::optional<Value> fallback;  // the default; without one a value must be given
  std::string comment;
  Place place;

  bool compiled() const;  // upper case
  // Reads a word of a spelling. Errors: value_not_allowed naming the allowed ones.
  Result<Value> read(std::string_view word) const;
  // A value as this parameter has it: words are read, 0 and 1 are booleans. Errors as read.
  Result<Value> check(const Value& value) const;
  std::string allowed_text() const;  // "one of bf16, f16, f32", "an integer of 0 or more"
};

// A constant by a name: the expressions below it and the code have it. Known before compiling.
struct Let {
  std::string name;
  Expression value;
  ParameterType type = ParameterType::integer;  // never an element type
  std::string set;                              // of a word: the parameter that has it
  std::string comment;
  Place place;
};

// A run-time number; every size has its `arg` line. With `fixed_by` the parameter of that name,
// when not 0, fixes it at compile time. With `device` it may be an int64 in device memory, then
// with an upper bound from the host.
struct Size {
  std::string name;
  std::string fixed_by;
  bool device = false;
  std::optional<Expression> divisible;  // what every value of it is a multiple of
  std::string comment;
  Place place;
};

struct Argument {
  enum class Kind : std::uint8_t { tensor, size, scalar, structure, tensor_map };
  friend constexpr auto words_of(Kind) {
    return std::to_array<std::string_view>({"tensor", "size", "scalar", "struct", "tensor_map"});
  }
  enum class Direction : std::uint8_t { in, out, inout };
  friend constexpr auto words_of(Direction) {
    return std::to_array<std::string_view>({"in", "out", "inout"});
  }
  Kind kind = Kind::tensor;
  Direction direction = Direction::in;
  std::string name;
  std::string
      type;  // tensor, scalar: a dtype's name or a `type` parameter's; structure: the C++ type
  std::vector<Expression> shape;     // tensor: elements, outermost first
  std::optional<Expression> stride;  // tensor: where not 0 rows may be apart; the body sees
                                     // NAME_stride (elements) either way
  std::optional<Expression>
      align;               // tensor: bytes that the pointer and every row start are a multiple of
  std::string optional;    // tensor: the parameter that says whether it is there (HAS_BIAS); empty:
                           // it always is
  bool settled = false;    // tensor: no kernel before writes it
  std::int64_t bytes = 0;  // structure: its size, asserted in the source
  std::string comment;
  Place place;
};

struct Requirement {
  Expression condition;
  std::string reason;  // the line's comment
  Place place;
};

struct LaunchRule {
  std::vector<Expression> grid, block;  // one to three
  std::optional<Expression> resident;   // thread blocks that a multiprocessor has room for: bounds
                                        // the registers of a thread
  std::optional<Expression> shared;     // dynamic shared memory, bytes
  std::optional<Expression> cluster;
  bool cooperative = false;
  bool dependent = false;  // programmatic dependent launch
  bool late = false;       // its body says where it waits for the launch before
  Place place;             // of the first line
  std::map<std::string, Place, std::less<>> places;  // of each clause that is there
};

// Which threads of a thread block ever wait for one another: `none` runs as plain loops on the
// host.
enum class Exchange : std::uint8_t { none, warp, block };

struct Samples {
  std::string name;  // a shape parameter or a size
  std::vector<std::int64_t> values;
};

class Template {
 public:
  // `name` is the kernel's symbol; `text` the whole file; `files` has the device headers whose
  // lines it may use, by default the built-in ones. Errors: parse_error with
  // "name.cu:line:column", what was found and what was meant.
  static Result<std::shared_ptr<const Template>> parse(std::string_view name, std::string_view text,
                                                       const TemplateFiles& files);
  static Result<std::shared_ptr<const Template>> parse(std::string_view name,
                                                       std::string_view text);

  const std::string& name() const { return name_; }
  std::string file() const { return name_ + ".cu"; }
  const std::string& text() const { return text_; }
  const Digest& text_digest() const { return text_digest_; }  // and of the headers it uses
  const std::string& prose() const { return prose_; }  // the comment lines above the header, bare
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Let>& lets() const { return lets_; }
  // The device headers whose lines its header has, by `use`:
  // "diecast/device/scales/scale_layout.h".
  const std::vector<std::string>& used() const { return used_; }
  const std::vector<Size>& sizes() const { return sizes_; }
  const std::vector<Argument>& arguments() const { return arguments_; }
  const std::vector<Requirement>& requirements() const { return requirements_; }
  const std::vector<Samples>& samples() const { return samples_; }
  const LaunchRule& launch() const { return launch_; }
  Exchange exchange() const { return exchange_; }
  int minimum_cc() const { return minimum_cc_; }  // of `sm_80+`; 0: none but the listed ones
  std::string targets_text() const;               // "host, sm_80+"
  bool supports(const Target& target) const;
  int code_line() const { return code_line_; }  // line of the file where the code begins
  std::string_view code() const;                // from that line to the end

  const Parameter* parameter(std::string_view name) const;
  const Let* let(std::string_view name) const;
  const Size* size(std::string_view name) const;
  const Argument* argument(std::string_view name) const;

  // Every combination of option and tune values and sampled shapes whose requirements hold on the
  // target; `fixed` narrows it, also to shapes that are no sample. Lower-case tunes stay at their
  // defaults: they compile nothing. Empty on a target the template does not support. Errors:
  // unknown_parameter, value_not_allowed, value_missing (a free integer without sample or default),
  // invalid_argument above 16 million combinations or a million points.
  Result<std::vector<Bindings>> space(const Target& target, const Bindings& fixed = {}) const;

 private:
  friend class HeaderParser;
  std::string name_, text_, prose_;
  Digest text_digest_;
  std::vector<Parameter> parameters_;
  std::vector<Let> lets_;
  std::vector<std::string> used_;
  std::vector<Size> sizes_;
  std::vector<Argument> arguments_;
  std::vector<Requirement> requirements_;
  std::vector<Samples> samples_;
  LaunchRule launch_;
  Exchange exchange_ = Exchange::block;
  bool host_ = false;
  int minimum_cc_ = 0;
  std::vector<Target> listed_targets_;
  int code_line_ = 1;
  std::size_t code_offset_ = 0;
};

}  // namespace diecast
