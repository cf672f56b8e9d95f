// The type and shape that a template gives a tensor; see kernel_arguments.h.
#include <diecast/base/text.h>
#include <diecast/c/kernel_arguments.h>

#include <algorithm>
#include <string>

namespace diecast::c {
namespace {

// `text` has no value: its first name without one says why.
Error unknown_size(const Specialization& kernel, const BoundArgument& argument,
                   const Expression& text, const Names& names) {
  std::vector<std::string> shape;
  for (const Expression& each : argument.shape) shape.push_back(each.text());
  const auto unknown = std::ranges::find_if(
      text.names(), [&](const Expression::Name& each) { return !names(each.name); });
  const std::string_view name = unknown == text.names().end() ? text.text() : unknown->name;
  return {ErrorCode::value_missing,
          cat(kernel.tmpl().name(), ": the shape of ", argument.name, ", [", join(shape, ", "),
              "], does not follow from the tensors: nothing tells ", name),
          cat("pass ", name, ", or ", argument.name)};
}

}  // namespace

Result<diecast_output> output_of(const Specialization& kernel, std::string_view argument,
                                 std::span<const diecast_argument> sizes) {
  const auto& all = kernel.arguments();
  const auto found = std::ranges::find(all, argument, &BoundArgument::name);
  if (found == all.end() || found->kind != Argument::Kind::tensor)
    return Error{ErrorCode::invalid_argument,
                 cat(kernel.tmpl().name(), ": ", quote(argument, 40), " is no tensor of it"),
                 "name a tensor of its header"};
  const Names names =
      [&, fixed = kernel.names()](std::string_view name) -> std::optional<std::int64_t> {
    if (const auto value = fixed(name)) return value;
    for (const diecast_argument& each : sizes)
      if (each.name != nullptr && name == each.name) return each.integer;
    return std::nullopt;
  };
  diecast_output out{};
  if (found->shape.size() > std::size(out.shape))
    return Error{ErrorCode::not_supported,
                 cat(kernel.tmpl().name(), ": ", argument, " has more than 8 dimensions"),
                 cat("pass ", argument)};
  out.index = static_cast<std::uint32_t>(found - all.begin());
  out.dtype = dtype_name(found->dtype).data();
  out.ndim = static_cast<std::int32_t>(found->shape.size());
  for (std::size_t d = 0; d < found->shape.size(); ++d) {
    const auto value = found->shape[d].evaluate(names);
    if (!value && value.error().code == ErrorCode::unknown_parameter)
      return unknown_size(kernel, *found, found->shape[d], names);
    if (!value) return value.error();
    if (*value < 0)
      return Error{
          ErrorCode::shape_mismatch,
          cat(kernel.tmpl().name(), ": ", argument, ": ", found->shape[d].text(), " is ", *value),
          "pass tensors for which no extent is negative"};
    out.shape[d] = *value;
  }
  return out;
}

}  // namespace diecast::c
