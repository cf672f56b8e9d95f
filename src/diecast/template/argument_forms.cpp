// See argument_forms.h.
#include <diecast/base/text.h>
#include <diecast/template/argument_forms.h>
#include <diecast/template/signature.h>

namespace diecast {
namespace {

ArgumentForm by_value(const std::string& type, const std::string& name) {
  return {cat(type, " ", name), cat(type, " ", name), type, name, name};
}

ArgumentForm of_tensor(const Argument& argument) {
  const std::string& name = argument.name;
  const std::string type =
      cat(argument.direction == Argument::Direction::in ? "const " : "", argument.type, "*");
  const std::string restricted = cat(type, " __restrict__ ", name);
  ArgumentForm form = {restricted, restricted, type, name, name};
  form.read = argument.direction != Argument::Direction::out && !argument.settled;
  return form;
}

// Before a `dependent(late)` body waits, nothing may read a number in device memory: the entry has
// the bound alone, and the body asks for the number.
std::string value_of_device_size(const Template& tmpl, std::string_view name) {
  return cat(name, tmpl.launch().late ? ".value" : ".count()");
}

// A name of a tensor's extents, as the entry sees it.
std::string entry_name(const Template& tmpl, std::string_view name) {
  const Size* size = tmpl.size(name);
  return size && size->device ? value_of_device_size(tmpl, name) : cpp_name(tmpl, name);
}

// How many elements a tensor has, from its first to its last.
std::string elements_in_cpp(const Argument& argument, const Template& tmpl,
                            const std::string& stride) {
  const auto spell = [&tmpl](std::string_view name) { return entry_name(tmpl, name); };
  std::string rows = "diecast::i64{1}";
  for (std::size_t i = 0; i + 1 < argument.shape.size(); ++i)
    rows += cat(" * (", argument.shape[i].cpp(spell), ")");
  const std::string last = cat("(", argument.shape.back().cpp(spell), ")");
  if (!argument.stride) return cat(rows, " * ", last);
  return cat("diecast::elements_with_stride(", rows, ", ", stride, ", ", last, ")");
}

// The body gets a pointer that knows its elements.
ArgumentForm of_checked(ArgumentForm form, const Argument& argument, const std::string& count) {
  const std::string type =
      cat("diecast::Checked<", argument.direction == Argument::Direction::in ? "const " : "",
          argument.type, ">");
  form.body = cat(type, " ", argument.name);
  form.pass = cat(type, "(", form.pass, ", ", count, ", \"", argument.name, "\")");
  return form;
}

// What is not there comes from nowhere; the body has its names all the same.
ArgumentForm of_absent(ArgumentForm form, const std::string& pass) {
  form.pass = pass;
  form.derived = true;
  form.read = false;
  return form;
}

// Where rows cannot be apart the body's NAME_stride is the row length, known to be.
ArgumentForm of_stride(const Argument& argument, bool apart, const Template& tmpl) {
  ArgumentForm form = by_value("i64", argument.name + "_stride");
  if (apart) return form;
  form.pass =
      argument.shape.back().cpp([&tmpl](std::string_view name) { return entry_name(tmpl, name); });
  form.derived = true;
  return form;
}

ArgumentForm of_device_size(const Template& tmpl, const std::string& name) {
  const std::string raw = cat("diecast::DeviceSize ", name);
  if (tmpl.launch().late) return {raw, raw, "diecast::DeviceSize", name, name};
  return {cat("i64 ", name), raw, "diecast::DeviceSize", name, value_of_device_size(tmpl, name)};
}

ArgumentForm of_structure(const std::string& type, const std::string& name) {
  return {cat("const ", type, "& ", name),
          cat("const __grid_constant__ ", type, " ", name),
          type,
          name,
          name,
          true};
}

// A tensor, and its stride where it may have one.
void add_tensor(std::vector<ArgumentForm>& forms, const Argument& argument,
                const BoundArgument& bound, const Template& tmpl, BuildKind build) {
  ArgumentForm tensor = of_tensor(argument);
  if (bound.absent) tensor = of_absent(tensor, "nullptr");
  ArgumentForm stride = by_value("i64", argument.name + "_stride");
  if (argument.stride) {
    stride = bound.absent ? of_absent(stride, "0") : of_stride(argument, bound.stride, tmpl);
  }
  if (build == BuildKind::debug) {
    const std::string count = bound.absent ? "0" : elements_in_cpp(argument, tmpl, stride.pass);
    tensor = of_checked(tensor, argument, count);
  }
  forms.push_back(tensor);
  if (argument.stride) forms.push_back(stride);
}

}  // namespace

std::vector<ArgumentForm> forms_of(const Specialization& specialization, BuildKind build) {
  std::vector<ArgumentForm> forms;
  for (std::size_t i = 0; i < specialization.arguments().size(); ++i) {
    const Argument& argument = specialization.tmpl().arguments()[i];
    const BoundArgument& bound = specialization.arguments()[i];
    switch (argument.kind) {
      case Argument::Kind::tensor:
        add_tensor(forms, argument, bound, specialization.tmpl(), build);
        break;
      case Argument::Kind::size:
        if (!bound.fixed)
          forms.push_back(bound.device ? of_device_size(specialization.tmpl(), argument.name)
                                       : by_value("i64", argument.name));
        break;
      case Argument::Kind::scalar:
        forms.push_back(by_value(argument.type, argument.name));
        break;
      case Argument::Kind::structure:
        forms.push_back(of_structure(argument.type, argument.name));
        break;
      case Argument::Kind::tensor_map:
        forms.push_back(of_structure("diecast::TensorMap", argument.name));
        break;
    }
  }
  return forms;
}

}  // namespace diecast
