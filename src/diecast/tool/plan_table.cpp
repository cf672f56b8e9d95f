// Lines of tensors that are alike; see plan_table.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/checkpoint/plan_json.h>
#include <diecast/tool/console.h>
#include <diecast/tool/plan_table.h>

#include <algorithm>
#include <map>
#include <utility>

namespace diecast::tool {
namespace {

// "layers.#.up_proj" of "layers.7.up_proj", and its numbers.
std::string without_numbers(const std::string& name, std::vector<std::int64_t>& numbers) {
  std::vector<std::string> out;
  for (const std::string_view part : split(name, '.')) {
    const auto number = parse_integer(part);
    out.emplace_back(number ? "#" : part);
    if (number) numbers.push_back(*number);
  }
  return join(out, ".");
}

// Tensors whose names differ in numbers alone, and that are of one type and shape.
struct Alike {
  std::vector<std::string> cells;  // name without numbers, type, shape, what becomes of it
  std::string first;
  std::size_t count = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // of each number

  std::string name() const {
    if (count == 1) return first;
    std::string out;
    std::size_t at = 0;
    for (const char c : cells[0]) {
      if (c != '#' || at == ranges.size()) {
        out += c;
        continue;
      }
      const auto& [low, high] = ranges[at++];
      out += low == high ? cat(low) : cat("{", low, "..", high, "}");
    }
    return out;
  }
};

std::vector<std::string> cells_of(const Plan& plan, std::size_t i,
                                  const std::map<std::size_t, std::size_t>& shared) {
  const PlannedTensor& t = plan.tensors[i];
  std::string what(action_name(t.action));
  if (t.action == Action::dequantize) what += cat(" to ", dtype_name(t.to));
  if (!t.reason.empty()) what += cat(": ", t.reason);
  if (const auto first = shared.find(i); first != shared.end()) {
    const std::string& with = plan.tensors[first->second].name;
    what +=
        cat(", one amax with ", quote(with.substr(with.find_last_of('.', with.size() - 8) + 1)));
  }
  const std::string name = quote(t.name);
  return {name.substr(1, name.size() - 2), std::string(stored_dtype_name(t.dtype)),
          shape_text(t.shape), what};
}

void add(std::vector<Alike>& lines, std::map<std::vector<std::string>, std::size_t>& known,
         std::vector<std::string> cells, bool whole) {
  std::vector<std::int64_t> numbers;
  std::string first = cells[0];
  if (!whole) cells[0] = without_numbers(first, numbers);
  const auto [at, is_new] = known.try_emplace(cells, lines.size());
  if (is_new) lines.push_back({std::move(cells), std::move(first), 0, {}});
  Alike& line = lines[at->second];
  ++line.count;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (is_new) line.ranges.emplace_back(numbers[i], numbers[i]);
    line.ranges[i].first = std::min(line.ranges[i].first, numbers[i]);
    line.ranges[i].second = std::max(line.ranges[i].second, numbers[i]);
  }
}

}  // namespace

void print_plan(const Plan& plan, const SideFiles& side_files, bool whole) {
  const auto shared = shared_amaxes(plan);
  std::vector<Alike> lines;
  std::map<std::vector<std::string>, std::size_t> known;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i)
    add(lines, known, cells_of(plan, i, shared), whole);
  Table table({"tensor", "of them", "type", "shape", "what becomes of it"});
  for (const Alike& line : lines)
    table.add({line.name(), cat(line.count), line.cells[1], line.cells[2], line.cells[3]});
  table.print();
  if (!plan.scope.empty()) print(cat("weights are quantized in ", plan.scope));
  if (const std::uint64_t held = held_values(plan); held > 0)
    print(cat("a job holds weights that share a scale, up to ", human_bytes(held)));
  auto names = names_of(side_files);
  for (std::string& name : names) name = quote(name);
  if (!names.empty()) print(cat("other files that are written: ", join(names, ", ")));
  for (const std::string& note : notes_of(plan, side_files)) print(cat("note: ", note));
}

}  // namespace diecast::tool
