// The lines of a model folder taken apart; see model_folder.h.
#include <checkpoint/models/model_folder.h>
#include <diecast/base/text.h>

namespace diecast::testing {
namespace {

// "0..2" is 0, 1 and 2; "q,k" is q and k.
std::vector<std::string> choices(std::string_view inside) {
  std::vector<std::string> out;
  if (const std::size_t dots = inside.find(".."); dots != inside.npos) {
    const auto last = parse_integer(inside.substr(dots + 2)).value();
    for (auto i = parse_integer(inside.substr(0, dots)).value(); i <= last; ++i)
      out.push_back(cat(i));
    return out;
  }
  for (const std::string_view word : split(inside, ',')) out.emplace_back(word);
  return out;
}

std::vector<std::string> expanded(const std::string& name) {
  const std::size_t open = name.find('{');
  if (open == name.npos) return {name};
  const std::size_t close = name.find('}', open);
  std::vector<std::string> out;
  for (const std::string& choice :
       choices(std::string_view(name).substr(open + 1, close - open - 1))) {
    const auto rest = expanded(cat(name.substr(0, open), choice, name.substr(close + 1)));
    out.insert(out.end(), rest.begin(), rest.end());
  }
  return out;
}

}  // namespace

std::vector<ModelTensor> tensors_of(const ModelFolder& folder) {
  std::vector<ModelTensor> out;
  for (std::string_view line : split(folder.tensors, '\n')) {
    line = trim(line);
    const std::size_t open = line.find('['), close = line.find(']');
    if (open == line.npos) continue;
    ModelTensor tensor;
    tensor.quantized = line.starts_with('!');
    tensor.gone = line.starts_with('-');
    const std::size_t begin = tensor.quantized || tensor.gone;
    const std::string_view name = trim(line.substr(begin, open - begin));
    const std::string_view type = trim(line.substr(close + 1));
    tensor.dtype = type.empty() ? "BF16" : type;
    for (const std::string_view dim : split(line.substr(open + 1, close - open - 1), ','))
      if (!trim(dim).empty())
        tensor.shape.push_back(static_cast<std::uint64_t>(parse_integer(trim(dim)).value()));
    for (std::string& each : expanded(std::string(name))) {
      tensor.name = std::move(each);
      out.push_back(tensor);
    }
  }
  return out;
}

std::vector<ModelFolder> model_folders() {
  std::vector<ModelFolder> out;
  for (const auto& some :
       {dense_folders(), mixture_folders(), multimodal_folders(), other_folders()})
    out.insert(out.end(), some.begin(), some.end());
  return out;
}

}  // namespace diecast::testing
