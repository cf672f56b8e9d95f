// A specialization is a template with everything that varies fixed, for one target: a point of the
// template's space.
#pragma once

#include <diecast/base/error.h>
#include <diecast/template/template.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

class Requirements;  // requirements.h

// An argument as this specialization's kernel takes it. Kernel parameters in order:
//   tensor      pointer; then, if `stride`, NAME_stride as i64; nothing at all when it is absent
//   size        i64; or, if `device`, {const i64* pointer; i64 value} (16 bytes); nothing at all
//               when it is fixed at compile time
//   scalar      its dtype;  structure, tensor_map: `bytes` bytes by value
struct BoundArgument {
  Argument::Kind kind;
  Argument::Direction direction;
  std::string name;
  DType dtype = DType::u8;     // tensor, scalar
  bool stride = false;         // tensor: without, its rows are dense
  bool absent = false;         // tensor: null, no kernel parameter
  std::int64_t align = 1;      // bytes, tensor: at least one element
  bool device = false;         // size
  std::int64_t divisible = 1;  // size: given as a host number it is a multiple of this
  bool fixed = false;          // size: known at compile time, no kernel parameter
  std::int64_t fixed_value = 0;
  std::int64_t bytes = 0;         // structure, tensor_map
  std::vector<Expression> shape;  // tensor
};

class Specialization {
 public:
  // Makes a specialization. Missing parameters take their defaults. Errors: unknown_parameter,
  // value_not_allowed, value_missing, constraint_violated (with the values and the nearest ones
  // that fit), target_not_supported.
  static Result<Specialization> make(std::shared_ptr<const Template> tmpl, const Bindings& bindings,
                                     const Target& target);
  // The same for many points of one template, whose requirements for this target are compiled once.
  static Result<Specialization> make(std::shared_ptr<const Template> tmpl, const Bindings& bindings,
                                     const Target& target, Requirements& requirements);
  // Whether make() would find every requirement kept, without the search for values that fit that
  // its error takes. Errors: unknown_parameter, value_not_allowed, value_missing.
  static Result<bool> keeps(const Template& tmpl, const Bindings& bindings,
                            Requirements& requirements);

  const Template& tmpl() const { return *template_; }
  const std::shared_ptr<const Template>& shared_tmpl() const { return template_; }
  const Bindings& bindings() const { return bindings_; }  // all parameters, in declaration order
  const Target& target() const { return target_; }
  std::int64_t number(std::string_view parameter) const;  // of a parameter that exists

  // "quantize_nvfp4 COLS=4096 IN=bf16 ... @ sm_100a": every compiled parameter, in declaration
  // order.
  std::string spelling() const;

  const std::vector<BoundArgument>& arguments() const { return arguments_; }
  // One line an argument ("tensor x in bf16 stride align 16", "size cols = 4096"). The cache key
  // and the artifact carry it.
  const std::string& argument_schema() const { return schema_; }
  // Gives the values of names known now: compiled parameters, enumerators, dtypes, fixed sizes,
  // host, cc, bits:T. Lower-case tunes are not among them, because they are read at launch.
  Names names() const;

 private:
  Result<void> bind_arguments();
  std::shared_ptr<const Template> template_;
  Bindings bindings_;
  Target target_;
  std::vector<BoundArgument> arguments_;
  std::string schema_;
  std::shared_ptr<const std::map<std::string, std::int64_t, std::less<>>> known_;
};

// Makes the error "quantize_nvfp4 has no parameter ...", with the name that was probably meant and
// those that there are.
Error unknown_parameter(const Template& tmpl, std::string_view name);

// A spelling read back. Values may be lists or `*` (all allowed) in a manifest line; a
// specialization's own spelling has exactly one of each.
struct Spelling {
  std::string name;
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  std::vector<std::string> targets;
};
// Parses a spelling. Targets are checked; whether the template, its parameters and values exist is
// not. Errors: parse_error with the column.
Result<Spelling> parse_spelling(std::string_view text);
// The values of a spelling that has one for each parameter it names. Errors: value_not_allowed.
Result<Bindings> bindings_of(const Spelling& spelling);

}  // namespace diecast
