// The launch path: arguments checked and packed, the rule evaluated, the context's code found, one
// call of the device. Nothing on it allocates, locks or waits.
#include <diecast/base/fork.h>
#include <diecast/base/text.h>
#include <diecast/launch/kernel.h>
#include <diecast/launch/kernel/arguments.h>
#include <diecast/launch/kernel/launch_rule.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace diecast {
namespace {

// The logarithm of a size in 256ths of a doubling, near enough to tell sizes apart by.
std::int64_t doublings(std::int64_t size) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
  const int width = static_cast<int>(std::bit_width(value));
  const std::uint64_t below = width > 9 ? value >> (width - 9) : value << (9 - width);
  return 256 * width + static_cast<std::int64_t>(below & 255);
}

std::string sizes_text(std::span<const std::size_t> sizes) {
  std::vector<std::string> texts;
  for (const std::size_t size : sizes) texts.push_back(cat(size));
  return texts.empty() ? "none" : join(texts, ", ");
}

}  // namespace

struct Kernel::State {
  ArgumentCheck arguments;
  BoundLaunchRule rule;
  LaunchSlots slots;
  LaunchTunes tunes;
  struct Tuned {
    LaunchSlots::Values sizes;  // doublings
    LaunchTunes tunes;
  };
  std::vector<Tuned> tuned;
  // Guards what follows, and who adds to resident_. A forked child that takes it from a load of its
  // parent finds the code resident or not, never in between, and loads for itself.
  LongMutex loading;
  std::shared_ptr<ReadCode> code;  // read, and not loaded yet; else null

  State(LaunchSlots its_slots, ArgumentCheck its_arguments, BoundLaunchRule its_rule)
      : arguments(std::move(its_arguments)),
        rule(std::move(its_rule)),
        slots(std::move(its_slots)) {}

  const LaunchTunes& tunes_for(const LaunchSlots::Values& sizes) const;
  void set(const LaunchTunes& wanted, LaunchSlots::Values& values) const;
  // The parameters and the shape of any launch.
  Result<void> take(std::span<const KernelArgument> given, const LaunchTunes* its_tunes,
                    PackedParameters& packed, LaunchShape& shape) const;
};

Kernel::Kernel(const Specialization& specialization, std::shared_ptr<const Artifact> artifact,
               std::shared_ptr<Device> device, std::unique_ptr<State> state)
    : specialization_(specialization),
      artifact_(std::move(artifact)),
      device_(std::move(device)),
      state_(std::move(state)),
      quick_{state_->arguments.may_be_quick() && state_->rule.may_be_quick(),
             state_->arguments.quick(), state_->rule.quick()} {}

Result<std::shared_ptr<Kernel>> Kernel::make(const Specialization& specialization,
                                             std::shared_ptr<const Artifact> artifact,
                                             std::shared_ptr<Device> device,
                                             std::span<const TunedLaunch> tuned) {
  if (artifact->argument_schema != specialization.argument_schema() ||
      artifact->target != specialization.target() ||
      artifact->symbol != specialization.tmpl().name())
    return Error{
        ErrorCode::invalid_argument,
        cat("the artifact of ", artifact->spelling, " is not one of ", specialization.spelling()),
        "resolve this specialization and use the artifact that comes back"};
  DIECAST_TRY(LaunchSlots slots, LaunchSlots::make(specialization));
  if (slots.count() - slots.size_count() > LaunchTunes::kMost)
    return Error{ErrorCode::not_supported,
                 cat(specialization.tmpl().name(), " has ", slots.count() - slots.size_count(),
                     " lower-case tunes"),
                 cat("a template may have ", LaunchTunes::kMost, " of them")};
  DIECAST_TRY(ArgumentCheck arguments, ArgumentCheck::make(specialization, slots));
  DIECAST_TRY(BoundLaunchRule rule, BoundLaunchRule::make(specialization, device->properties(),
                                                          artifact->static_shared_bytes, slots));
  auto state = std::make_unique<State>(std::move(slots), std::move(arguments), std::move(rule));
  std::shared_ptr<Kernel> kernel(
      new Kernel(specialization, std::move(artifact), std::move(device), std::move(state)));
  DIECAST_TRY(kernel->state_->tunes, kernel->tunes({}));
  DIECAST_CHECK(kernel->add_tuned(tuned));
  return kernel;
}

Result<void> Kernel::add_tuned(std::span<const TunedLaunch> tuned) {
  for (const TunedLaunch& one : tuned) {
    State::Tuned at{};
    for (const auto& [name, size] : one.sizes) {
      if (const auto slot = state_->slots.find(name)) at.sizes[*slot] = doublings(size);
    }
    DIECAST_TRY(at.tunes, tunes(one.tunes));
    state_->tuned.push_back(at);
    quick_.may = false;
  }
  return {};
}

void Kernel::read_ahead() {
  std::lock_guard lock(state_->loading);
  if (state_->code != nullptr || !resident_.empty()) return;
  if (auto code = device_->read(*artifact_)) state_->code = *std::move(code);
}

Result<bool> Kernel::preload() {
  DIECAST_TRY(const std::uint64_t context, device_->context_id());
  if (resident_.find(context)) return false;
  std::lock_guard lock(state_->loading);
  if (resident_.find(context)) return false;
  // What is read is kept where loading fails: the driver never lets go of it, and whoever waits for
  // memory tries often.
  if (state_->code == nullptr) {
    DIECAST_TRY(state_->code, device_->read(*artifact_));
  }
  const auto& wanted = state_->arguments.parameter_bytes();
  LaunchNeeds needs = state_->rule.needs();
  needs.parameters = wanted.size();
  DIECAST_TRY(std::shared_ptr<ResidentCode> code,
              device_->load(*artifact_, needs, state_->code.get()));
  if (const auto found = code->parameter_bytes(); found && *found != wanted)
    return Error{ErrorCode::file_corrupt,
                 cat("the code of ", artifact_->spelling, " takes parameters of ",
                     sizes_text(*found), " bytes; its header says ", sizes_text(wanted)),
                 "delete its cache entry and build it again"};
  resident_.add(context, std::move(code));
  state_->code = nullptr;
  return true;
}

Result<bool> Kernel::resident() const {
  DIECAST_TRY(const std::uint64_t context, device_->context_id());
  return resident_.find(context) != nullptr;
}

Result<LaunchTunes> Kernel::tunes(const Bindings& tunes) const {
  for (const auto& [name, value] : tunes.entries()) {
    const Parameter* parameter = specialization_.tmpl().parameter(name);
    if (!parameter) return unknown_parameter(specialization_.tmpl(), name);
    DIECAST_TRY(const Value checked, parameter->check(value));
    const Value& bound = *specialization_.bindings().find(name);
    if (parameter->compiled() && checked != bound)
      return Error{ErrorCode::invalid_argument,
                   cat(specialization_.spelling(), ": ", name, " is compiled in as ",
                       bound.spelling(), "; a launch cannot make it ", checked.spelling()),
                   cat("specialize with ", name, "=", checked.spelling())};
  }
  LaunchTunes out;
  const std::size_t sizes = state_->slots.size_count();
  for (std::size_t slot = sizes; slot < state_->slots.count(); ++slot) {
    const std::string& name = state_->slots.name(slot);
    const Value* given = tunes.find(name);
    const Value& value = given ? *given : *specialization_.bindings().find(name);
    DIECAST_TRY(const Value checked, specialization_.tmpl().parameter(name)->check(value));
    out.values_[slot - sizes] = checked.number;
  }
  return out;
}

// The nearest measured sizes; of two the first.
const LaunchTunes& Kernel::State::tunes_for(const LaunchSlots::Values& sizes) const {
  const LaunchTunes* nearest = &tunes;
  std::int64_t least = INT64_MAX;
  for (const Tuned& one : tuned) {
    std::int64_t apart = 0;
    for (std::size_t slot = 0; slot < slots.size_count(); ++slot)
      apart += std::abs(doublings(sizes[slot]) - one.sizes[slot]);
    if (apart < least) nearest = &one.tunes;
    least = std::min(apart, least);
  }
  return *nearest;
}

void Kernel::State::set(const LaunchTunes& wanted, LaunchSlots::Values& values) const {
  const std::size_t sizes = slots.size_count();
  for (std::size_t slot = sizes; slot < slots.count(); ++slot)
    values[slot] = wanted.values_[slot - sizes];
}

Result<void> Kernel::State::take(std::span<const KernelArgument> given,
                                 const LaunchTunes* its_tunes, PackedParameters& packed,
                                 LaunchShape& shape) const {
  LaunchSlots::Values values;
  set(its_tunes ? *its_tunes : tunes, values);
  DIECAST_CHECK(arguments.pack(given, values, packed));
  if (!its_tunes && !tuned.empty()) set(tunes_for(values), values);
  return rule.shape(values, shape);
}

Result<LaunchShape> Kernel::shape(std::span<const KernelArgument> arguments,
                                  const Bindings& tunes) const {
  DIECAST_TRY(const LaunchTunes its_tunes, this->tunes(tunes));
  PackedParameters packed;
  LaunchShape shape;
  DIECAST_CHECK(
      state_->take(arguments, tunes.entries().empty() ? nullptr : &its_tunes, packed, shape));
  return shape;
}

Result<void> Kernel::launch_with(std::span<const KernelArgument> arguments, Stream stream,
                                 const LaunchTunes* tunes) const {
  PackedParameters packed;
  LaunchShape shape;
  DIECAST_CHECK(state_->take(arguments, tunes, packed, shape));
  if (shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0) return {};
  return launch_checked(packed.pointers.data(), shape, stream);
}

Result<void> Kernel::launch(std::span<const KernelArgument> arguments, Stream stream,
                            const LaunchTunes& tunes) const {
  return launch_with(arguments, stream, &tunes);
}

// What launches go through lies side by side ([[gnu::hot]]), on one page of code.
[[gnu::hot]] Result<void> Kernel::launch(std::span<const KernelArgument> arguments,
                                         Stream stream) const {
  LaunchWords words;
  LaunchShape shape = quick_.grid.constant();
  if (state_->arguments.quick_words(arguments, words) && quick_.take(words, shape)) [[likely]]
    return launch_checked(words.parameters.data(), shape, stream);
  return launch_with(arguments, stream, nullptr);
}

Result<void> Kernel::launch_spelled(const LaunchWords& words, Stream stream) const {
  std::array<KernelArgument, LaunchWords::kMostArguments> arguments;
  state_->arguments.spell_out(words, arguments);
  return launch_with(std::span(arguments).first(state_->arguments.count()), stream, nullptr);
}

Result<void> Kernel::takes(std::span<const KernelArgument> kinds) const {
  return state_->arguments.check_kinds(kinds);
}

Result<void> Kernel::launch(std::span<const KernelArgument> arguments, Stream stream,
                            const Bindings& tunes) const {
  DIECAST_TRY(const LaunchTunes its_tunes, this->tunes(tunes));
  return launch_with(arguments, stream, &its_tunes);
}

// That code is not resident the device says; of which kernel, and what mends it, is known here.
void Kernel::explain(Result<void>& launched, Stream stream) const {
  if (launched.error().code == ErrorCode::not_resident) launched = not_resident(stream);
}

Error Kernel::not_resident(Stream stream) const {
  const auto capturing = device_->is_capturing(stream);
  const std::string where =
      cat(specialization_.spelling(), " is not resident on device ", device_->properties().ordinal,
          " (", device_->properties().name, ')');
  if (capturing && *capturing)
    return {
        ErrorCode::not_resident,
        cat(where, ", and the stream is being captured: loading it now could spoil the capture"),
        "call preload() in this context before the capture begins"};
  return {ErrorCode::not_resident,
          cat(where, " in the ", stream.context != 0 ? "stream's" : "current",
              " context; a launch loads nothing"),
          "call preload() in this context before the first launch (and before freeze())"};
}

}  // namespace diecast
