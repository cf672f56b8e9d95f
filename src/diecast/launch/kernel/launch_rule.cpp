// Grid, block, shared memory and cluster of a launch, and the limits they must keep. The driver
// says no more than "invalid value" to what is over a limit; here the error names the number.
#include <diecast/base/text.h>
#include <diecast/launch/kernel/launch_rule.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr const char* kFieldNames[] = {"grid x",  "grid y",  "grid z",        "block x",
                                       "block y", "block z", "shared memory", "cluster"};

constexpr std::string_view kClauses[] = {"grid",  "grid",  "grid",   "block",
                                         "block", "block", "shared", "cluster"};

}  // namespace

Result<LaunchSlots> LaunchSlots::make(const Specialization& specialization) {
  LaunchSlots slots;
  const auto& arguments = specialization.arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const BoundArgument& argument = arguments[i];
    if (argument.kind != Argument::Kind::size || argument.fixed) continue;
    slots.names_.push_back(argument.name);
    slots.of_sizes_.push_back({static_cast<int>(LaunchWords::number_word(i)), argument.divisible});
  }
  slots.sizes_ = slots.names_.size();
  for (const Parameter& parameter : specialization.tmpl().parameters())
    if (!parameter.compiled()) slots.names_.push_back(parameter.name);
  if (slots.names_.size() > kMost)
    return Error{ErrorCode::not_supported,
                 cat(specialization.tmpl().name(), " has ", slots.names_.size(),
                     " sizes and lower-case tunes"),
                 cat("a template may have ", kMost, " of them; put sizes into a struct argument")};
  return slots;
}

std::optional<int> LaunchSlots::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<int>(found - names_.begin());
}

Result<Program> LaunchSlots::compile(const Expression& expression, const Names& constants) const {
  return Program::compile(expression, constants,
                          [this](std::string_view name) { return find(name); });
}

std::string LaunchSlots::sizes_text(const Values& values) const {
  std::string text;
  for (std::size_t i = 0; i < sizes_; ++i)
    text += cat(i == 0 ? "" : ", ", names_[i], " = ", values[i]);
  return text;
}

std::string LaunchSlots::size_names() const { return join(std::span(names_).first(sizes_), ", "); }

Result<void> BoundLaunchRule::add(int field, const Expression& expression, const Names& constants) {
  DIECAST_TRY(Program program, slots_.compile(expression, constants));
  if (const auto constant = program.constant())
    constants_[field] = *constant;
  else
    variables_.push_back({field, std::move(program)});
  return {};
}

Result<BoundLaunchRule> BoundLaunchRule::make(const Specialization& specialization,
                                              const DeviceProperties& device,
                                              int static_shared_bytes, const LaunchSlots& slots) {
  const LaunchRule& launch = specialization.tmpl().launch();
  BoundLaunchRule rule;
  rule.slots_ = slots;
  for (int field = 0; field < kFields; ++field) {
    const auto clause = launch.places.find(kClauses[field]);
    rule.places_[field] = clause == launch.places.end() ? launch.place : clause->second;
  }
  rule.cooperative_ = launch.cooperative;
  // Elsewhere a launch that waits for all before it, as any does. Graphs know it since CUDA 12.3.
  rule.dependent_ = launch.dependent && device.cc >= 90 && device.driver_version >= 12030;
  const Names constants = [&, known = specialization.names()](std::string_view name) {
    if (name == "sm_count") return std::optional<std::int64_t>(device.sm_count);
    if (name == "shared_optin") return std::optional<std::int64_t>(device.shared_optin);
    return known(name);
  };
  for (std::size_t i = 0; i < launch.grid.size(); ++i)
    DIECAST_CHECK(rule.add(kGrid + static_cast<int>(i), launch.grid[i], constants));
  for (std::size_t i = 0; i < launch.block.size(); ++i)
    DIECAST_CHECK(rule.add(kBlock + static_cast<int>(i), launch.block[i], constants));
  if (launch.shared) DIECAST_CHECK(rule.add(kShared, *launch.shared, constants));
  if (launch.cluster) DIECAST_CHECK(rule.add(kCluster, *launch.cluster, constants));
  if (rule.constants_[kCluster] == 1) rule.constants_[kCluster] = 0;  // a cluster of one is none
  const std::int64_t shared = std::max<std::int64_t>(0, device.shared_optin - static_shared_bytes);
  rule.most_threads_ = device.max_threads;
  const std::int64_t cluster = device.cc > 0 && device.cc < 90 ? 1 : 16;  // of 9.0 and later
  rule.most_ = {2147483647,         65535, 65535,  device.max_threads,
                device.max_threads, 64,    shared, cluster};
  rule.needs_ = {rule.most_asked(kShared), rule.most_asked(kCluster)};
  rule.make_quick(launch, [&](std::string_view name) {
    const auto slot = slots.find(name);
    if (!slot || slots.is_size(*slot)) return constants(name);
    return std::optional<std::int64_t>(specialization.bindings().find(name)->number);
  });
  return rule;
}

bool BoundLaunchRule::varies(int field) const {
  return std::ranges::any_of(variables_, [field](const Variable& v) { return v.field == field; });
}

std::uint32_t BoundLaunchRule::most_asked(int field) const {
  const std::int64_t most = most_[field];
  return static_cast<std::uint32_t>(
      varies(field) ? most : std::clamp<std::int64_t>(constants_[field], 0, most));
}

void BoundLaunchRule::make_quick(const LaunchRule& launch, const Names& constants) {
  const bool grid_alone =
      std::ranges::all_of(variables_, [](const Variable& v) { return v.field < kBlock; });
  const std::int64_t cluster = std::max<std::int64_t>(1, constants_[kCluster]);
  Numbers known = constants_;
  for (const Variable& variable : variables_)
    if (variable.field == kGrid) known[kGrid] = cluster;
  if (!grid_alone || (cluster & (cluster - 1)) != 0 || !within_limits(known)) return;
  const LaunchShape constant = shape_of(constants_);
  if (std::ranges::count(constant.grid, 0u) != 0) return;  // launches nothing
  const auto size = [this](std::string_view name) {
    const auto slot = slots_.find(name);
    return slot && slots_.is_size(*slot) ? std::optional(slots_.word(*slot)) : std::nullopt;
  };
  StepProgram steps;
  std::vector<int> results;
  for (const Variable& variable : variables_) {
    const auto field = static_cast<std::size_t>(variable.field);
    const auto found = steps.add(launch.grid[field], constants, size);
    if (!found) return;
    results.push_back(*found);
  }
  may_be_quick_ = steps.holds(kMostSize);
  quick_ = QuickGrid(constant, std::move(steps));
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const auto field = static_cast<std::size_t>(variables_[i].field);
    quick_.add(field, results[i], most_[field], field == kGrid ? cluster : 1);
  }
}

bool BoundLaunchRule::within_limits(const Numbers& numbers) const {
  for (int field = 0; field < kFields; ++field)
    if (numbers[field] < least(field) || numbers[field] > most_[field]) return false;
  if (numbers[kBlock] * numbers[kBlock + 1] * numbers[kBlock + 2] > most_threads_) return false;
  return numbers[kCluster] == 0 || numbers[kGrid] % numbers[kCluster] == 0;
}

Error BoundLaunchRule::failure(int field, std::string what, const LaunchSlots::Values& values,
                               std::string_view mend) const {
  what = cat(places_[field].text(), ": launch: ", what);
  if (!varies(field) || slots_.size_count() == 0)
    return {ErrorCode::not_supported, std::move(what), "change the template's launch line"};
  what += cat(" (", slots_.sizes_text(values), ')');
  if (!mend.empty()) return {ErrorCode::not_supported, std::move(what), std::string(mend)};
  return {ErrorCode::not_supported, std::move(what),
          cat("split the call: pass less of ", slots_.size_names(), " at once")};
}

Error BoundLaunchRule::broken_limit(const Numbers& numbers,
                                    const LaunchSlots::Values& values) const {
  for (int field = 0; field < kFields; ++field) {
    if (numbers[field] < least(field) || numbers[field] > most_[field])
      return failure(field,
                     cat(kFieldNames[field], " is ", numbers[field], "; the device takes ",
                         least(field), " to ", most_[field]),
                     values,
                     numbers[field] < least(field)
                         ? cat("have the template's launch line keep it in range: max(",
                               least(field), ", ...)")
                         : std::string());
  }
  const std::int64_t threads = numbers[kBlock] * numbers[kBlock + 1] * numbers[kBlock + 2];
  if (threads > most_threads_)
    return failure(
        kBlock, cat("a block has ", threads, " threads; the device takes ", most_threads_), values);
  return failure(
      kGrid,
      cat("grid x is ", numbers[kGrid], ", no multiple of the cluster of ", numbers[kCluster]),
      values,
      cat("have the template's launch line round it up: align_up(..., ", numbers[kCluster], ")"));
}

Result<void> BoundLaunchRule::shape(const LaunchSlots::Values& values, LaunchShape& shape) const {
  Numbers numbers = constants_;
  for (const Variable& variable : variables_)
    if (!variable.program.evaluate(values, &numbers[variable.field]))
      return failure(variable.field,
                     cat(kFieldNames[variable.field], " overflows or divides by zero"), values,
                     cat("pass less of ", slots_.size_names(),
                         " at once, or have the launch line divide by max(..., 1)"));
  if (!within_limits(numbers)) return broken_limit(numbers, values);
  shape = shape_of(numbers);
  return {};
}

LaunchShape BoundLaunchRule::shape_of(const Numbers& numbers) const {
  const auto at = [&](int field) { return static_cast<std::uint32_t>(numbers[field]); };
  LaunchShape shape;
  shape.grid = {at(kGrid), at(kGrid + 1), at(kGrid + 2)};
  shape.block = {at(kBlock), at(kBlock + 1), at(kBlock + 2)};
  shape.shared_bytes = at(kShared);
  shape.cluster = numbers[kCluster] == 1 ? 0 : at(kCluster);
  shape.cooperative = cooperative_;
  shape.dependent = dependent_;
  return shape;
}

}  // namespace diecast
