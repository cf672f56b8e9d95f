// Lines of tensors that are alike; see plan_table.h.
#include <diecast/base/text.h>
#include <diecast/checkpoint/convert.h>
#include <diecast/tool/console.h>
#include <diecast/tool/plan_table.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace diecast::tool {
namespace {

std::vector<std::string> notes_of(const Plan& plan, const SideFiles& side_files) {
  std::vector<std::string> out = plan.notes;
  out.insert(out.end(), side_files.notes().begin(), side_files.notes().end());
  return out;
}

std::vector<std::string> names_of(const SideFiles& side_files) {
  std::vector<std::string> out;
  for (const SideFile& file : side_files.list()) out.push_back(file.name);
  return out;
}

// Tensors that have the amax of another, with that one: the first of their group.
std::map<std::size_t, std::size_t> shared_amaxes(const Plan& plan) {
  std::map<std::size_t, std::size_t> out;
  for (const std::vector<std::size_t>& group : plan.groups) {
    for (std::size_t i = 1; i < group.size(); ++i) out[group[i]] = group[0];
  }
  return out;
}

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

nlohmann::ordered_json plan_json(const Plan& plan, const SideFiles& side_files) {
  nlohmann::ordered_json out = {{"tensors", nlohmann::ordered_json::array()},
                                {"notes", notes_of(plan, side_files)},
                                {"side_files", names_of(side_files)},
                                {"held_bytes", held_values(plan)}};
  if (!plan.scope.empty()) out["scope"] = plan.scope;
  const auto shared = shared_amaxes(plan);
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlannedTensor& t = plan.tensors[i];
    nlohmann::ordered_json entry = {{"name", t.name},
                                    {"dtype", stored_dtype_name(t.dtype)},
                                    {"shape", t.shape},
                                    {"action", action_name(t.action)},
                                    {"reason", t.reason}};
    if (const auto first = shared.find(i); first != shared.end())
      entry["amax_with"] = plan.tensors[first->second].name;
    out["tensors"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace diecast::tool
