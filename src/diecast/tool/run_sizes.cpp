// Reading and combining sizes; see run_sizes.h.
#include <diecast/base/text.h>
#include <diecast/tool/arrays.h>
#include <diecast/tool/given_files.h>
#include <diecast/tool/run_sizes.h>

#include <algorithm>

namespace diecast::tool {
namespace {

// The value that a kernel's spelling gives a size: it is no run-time size then.
Result<void> check_not_fixed(const Specialization& one, const std::string& name,
                             const std::vector<std::int64_t>& values) {
  for (const BoundArgument& argument : one.arguments()) {
    if (argument.name != name || !argument.fixed) continue;
    for (const std::int64_t value : values) {
      if (value == argument.fixed_value) continue;
      return Error{ErrorCode::invalid_argument,
                   cat("--size ", name, "=", value, ": ", tuned_kernel(one), " has only ", name,
                       "=", argument.fixed_value),
                   cat("leave out --size ", name, ", or what fixes it in the spelling")};
    }
  }
  return {};
}

}  // namespace

Result<SizeLists> read_sizes(const std::vector<std::string>& given) {
  SizeLists out;
  for (const std::string& word : given) {
    const std::size_t equals = std::min(word.find('='), word.size());
    for (const std::string_view digits :
         split(std::string_view(word).substr(std::min(equals + 1, word.size())), ',')) {
      const auto number = parse_integer(digits);
      if (!number || *number < 0 || equals == 0) {
        return Error{ErrorCode::invalid_argument, cat(quote(word), " is no size"),
                     "write it as --size rows=1,512,16384 --size cols=4096"};
      }
      out[word.substr(0, equals)].push_back(*number);
    }
  }
  return out;
}

Result<void> add_sizes_of(const Specialization& one, const std::vector<std::string>& arrays,
                          SizeLists& to) {
  const std::vector<std::string> free = free_sizes(one);
  for (const std::string& word : arrays) {
    DIECAST_TRY(const NamedFile file, named_file("--in", word));
    const auto tensor = std::ranges::find(one.arguments(), file.name, &BoundArgument::name);
    if (tensor == one.arguments().end()) continue;  // an error where the array is taken
    const auto tells = [&](const Expression& size) {
      return std::ranges::count(free, size.text()) > 0 && !to.contains(size.text());
    };
    DIECAST_TRY(const auto shape, array_shape(file.path));
    for (std::size_t d = 0; shape.size() == tensor->shape.size() && d < shape.size(); ++d)
      if (tells(tensor->shape[d])) to.emplace(tensor->shape[d].text(), std::vector{shape[d]});
  }
  return {};
}

Result<void> check_sizes_of(std::span<const Specialization> kernels, const SizeLists& given) {
  std::vector<std::string> names;
  for (const Specialization& kernel : kernels) {
    for (const Size& size : kernel.tmpl().sizes())
      if (std::ranges::find(names, size.name) == names.end()) names.push_back(size.name);
  }
  for (const auto& [name, values] : given) {
    if (std::ranges::find(names, name) == names.end()) {
      return Error{ErrorCode::unknown_parameter,
                   cat("--size: no size is named ", quote(name), did_you_mean(name, names)),
                   cat("the sizes are ", join(names, ", "))};
    }
    for (const Specialization& kernel : kernels)
      DIECAST_CHECK(check_not_fixed(kernel, name, values));
  }
  return {};
}

Result<RunSizes> one_point_of(const Specialization& one, const SizeLists& given) {
  DIECAST_CHECK(check_sizes_of({&one, 1}, given));
  RunSizes out;
  for (const std::string& name : free_sizes(one)) {
    const auto found = given.find(name);
    if (found == given.end() && !is_absent_size(one.tmpl(), name))
      return Error{ErrorCode::value_missing,
                   cat(one.tmpl().name(), " is launched without a value of ", name),
                   cat("give one: --size ", name, "=64")};
    if (found != given.end() && found->second.size() != 1)
      return Error{ErrorCode::invalid_argument,
                   cat("--size ", name, " has ", found->second.size(), " values"),
                   "a run has one of each size; `diecast tune` takes several"};
    out.emplace_back(name, found == given.end() ? 0 : found->second[0]);
  }
  return out;
}

std::vector<RunSizes> points_of(const Specialization& one, const SizeLists& given, bool host) {
  std::vector<RunSizes> points = {{}};
  bool first = true;
  for (const std::string& name : free_sizes(one)) {
    const auto found = given.find(name);
    std::vector<std::int64_t> values;
    if (found != given.end()) values = found->second;
    if (values.empty() && is_absent_size(one.tmpl(), name)) values = {0};
    if (values.empty() && !first) values = {host ? 2048 : 4096};
    if (values.empty())
      values = host ? std::vector<std::int64_t>{16, 256} : std::vector<std::int64_t>{16, 512, 8192};
    first = false;
    std::vector<RunSizes> more;
    for (const RunSizes& point : points) {
      for (const std::int64_t value : values) {
        more.push_back(point);
        more.back().emplace_back(name, value);
      }
    }
    points = std::move(more);
  }
  return points;
}

}  // namespace diecast::tool
