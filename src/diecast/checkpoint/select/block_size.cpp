// One size for all of a model; see block_size.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/select/block_size.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast {
namespace {

std::optional<std::uint64_t> positive(std::string_view text) {
  const std::optional<std::int64_t> number = parse_integer(text);
  if (!number || *number < 1) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::optional<std::uint64_t> positive(const ConfigJson& said) {
  if (!said.is_number_unsigned() || said == 0) return std::nullopt;
  return said.get<std::uint64_t>();
}

template <typename Side>
std::optional<BlockSize> of_sides(const Side& rows, const Side& cols) {
  const std::optional<std::uint64_t> r = positive(rows), c = positive(cols);
  return r && c ? std::optional(BlockSize{*r, *c}) : std::nullopt;
}

// What a group says of blocks: null where it has them and says nothing. None where it has none.
std::optional<ConfigJson> said_of_blocks(const ConfigJson& group) {
  const ConfigJson* const weights = member(group, "weights");
  if (weights == nullptr) return std::nullopt;
  const ConfigJson* const said = member(*weights, "block_structure");
  if (said != nullptr && !said->is_null()) return *said;
  if (text_at(*weights, "strategy") != "block") return std::nullopt;
  return ConfigJson();
}

// Of the groups that have blocks. Sizes that differ are not read: nothing here tells a matrix's
// group.
void read_groups(const ConfigJson& groups, ModelConfig& out) {
  std::optional<BlockSize> size;
  std::string first;  // the group that says the size
  for (const auto& [name, group] : groups.items()) {
    const std::optional<ConfigJson> said = said_of_blocks(group);
    if (!said) continue;
    const std::optional<BlockSize> own = block_size(*said);
    const std::string which = cat("the group ", quote(name, 40), " of the model's config");
    if (!own) {
      out.unread_blocks = cat(which, " has a block_structure that is not two positive numbers");
      return;
    }
    if (size && *size != *own) {
      out.unread_blocks = cat(which, " has blocks of ", (*own)[0], "x", (*own)[1], ", and ",
                              quote(first, 40), " of ", (*size)[0], "x", (*size)[1]);
      return;
    }
    if (!size) size = own, first = name;
  }
  if (size) out.blocks = *size;
}

// Why integers of which a group says this are not read; empty: they are. Files do not say how many
// bits they have, nor whether there is a zero point.
std::string why_unread(const ConfigJson& weights) {
  const ConfigJson *const bits = member(weights, "num_bits"), *const symmetric =
                                                                  member(weights, "symmetric");
  if (bits != nullptr && *bits != 4)
    return bits->is_number() ? cat("integers of ", bits->dump(), " bits")
                             : "integers of a number of bits that is no number";
  const ConfigJson* const size = member(weights, "group_size");
  if (size != nullptr && !size->is_null() && *size != -1 && !positive(*size))
    return "a group_size that is no positive number";
  return symmetric == nullptr || *symmetric == true ? "" : "integers that are not symmetric";
}

// As ModelConfig::integer_groups has it. None: not said.
std::optional<std::uint64_t> group_size(const ConfigJson& weights) {
  const ConfigJson* const size = member(weights, "group_size");
  if (size != nullptr && !size->is_null()) return *size == -1 ? 0 : positive(*size);
  return text_at(weights, "strategy") == "channel" ? std::optional<std::uint64_t>(0) : std::nullopt;
}

// Of the groups that have integers. One that does not say its size may be of any weight.
void read_integers(const ConfigJson& groups, ModelConfig& out) {
  std::vector<std::uint64_t> sizes;
  bool known = true;
  for (const auto& [name, group] : groups.items()) {
    const ConfigJson* const weights = member(group, "weights");
    if (weights == nullptr || text_at(*weights, "type") != "int") continue;
    if (const std::string why = why_unread(*weights); !why.empty()) {
      out.unread_integers = cat("the group ", quote(name, 40), " of the model's config has ", why);
      return;
    }
    const std::optional<std::uint64_t> size = group_size(*weights);
    known = known && size;
    sizes.push_back(size.value_or(0));
  }
  if (known) out.integer_groups = std::move(sizes);
}

}  // namespace

std::optional<BlockSize> block_size(const ConfigJson& said) {
  if (said.is_array() && said.size() == 2) return of_sides(said[0], said[1]);
  if (!said.is_string()) return std::nullopt;
  const std::string_view text = said.get_ref<const std::string&>();
  const std::size_t cross = text.find('x');
  if (cross == text.npos) return std::nullopt;
  return of_sides(text.substr(0, cross), text.substr(cross + 1));
}

void read_block_size(const ConfigJson& config, ModelConfig& out) {
  const ConfigJson* const said = member(config, "weight_block_size");
  if (said != nullptr && !said->is_null()) {
    if (const std::optional<BlockSize> size = block_size(*said))
      out.blocks = *size;
    else
      out.unread_blocks =
          "the model's config has a weight_block_size that is not two positive numbers";
  }
  const ConfigJson* const groups = member(config, "config_groups");
  if (groups == nullptr || !groups->is_object()) return;
  read_groups(*groups, out);
  read_integers(*groups, out);
}

}  // namespace diecast
