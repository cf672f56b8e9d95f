// Reading tuning bounds and choosing by them; see bound.h.
#include <diecast/base/text.h>
#include <diecast/runtime/tuning/bound.h>
#include <diecast/template/embedded_file.h>
#include <diecast/template/requirements.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace diecast {

const EmbeddedFile* built_in_tuning();

namespace {

// Times the multiprocessors of any device it still fits in 64 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

Error wrong_bound(std::string_view field, std::string_view text) {
  return {ErrorCode::parse_error, cat("the ", field, " of a tuning bound is ", quote(text, 80)),
          "write a bound as cache/tuned/README.md has it"};
}

// "cols<=4096 elements/sm<7200": each at most once, and one of the two for elements.
bool read_bounds(std::string_view text, TuningBound& out) {
  const auto number_after = [](std::string_view word, std::string_view sign) -> std::int64_t {
    if (!word.starts_with(sign)) return 0;
    const auto number = parse_integer(word.substr(sign.size()));
    return number && *number <= kMostElements ? *number : 0;
  };
  auto all = words(text);
  if (!all.empty() && all[0].starts_with("cols")) {
    out.cols = number_after(all[0], "cols<=");
    all.erase(all.begin());
  }
  if (all.size() != 1) return false;
  out.each_processor = all[0].starts_with("elements/sm");
  out.below = number_after(all[0], out.each_processor ? "elements/sm<" : "elements<");
  return out.cols > 0 && out.below > 0;
}

Result<TuningBound> parse_tuning_bound(std::string_view line) {
  std::vector<std::string_view> fields;
  for (const std::string_view field : split(line, '|')) fields.push_back(trim(field));
  if (fields[0] != "1") return wrong_bound("version", fields[0]);
  if (fields.size() != 5) return wrong_bound("number of fields", cat(fields.size()));
  TuningBound out;
  auto kernel = parse_spelling(fields[1]);
  if (!kernel || !kernel->targets.empty()) return wrong_bound("kernel", fields[1]);
  out.kernel = *std::move(kernel);
  out.device = fields[2];
  if (out.device.empty()) return wrong_bound("device", fields[2]);
  if (!read_bounds(fields[3], out)) return wrong_bound("list of bounds", fields[3]);
  auto tunes = parse_spelling(cat(out.kernel.name, " ", fields[4]));
  const auto is_one = [](const auto& tune) { return tune.second.size() == 1; };
  if (!tunes || !tunes->targets.empty() || !std::ranges::all_of(tunes->values, is_one))
    return wrong_bound("list of tunes", fields[4]);
  out.tunes = *std::move(tunes);
  return out;
}

// Whether it is for a kernel of these options.
bool is_for(const TuningBound& bound, std::string_view name, const Bindings& options) {
  return bound.kernel.name == name &&
         std::ranges::all_of(bound.kernel.values, [&](const auto& option) {
           const Value* const value = options.find(option.first);
           return value != nullptr && std::ranges::count(option.second, value->spelling()) > 0;
         });
}

// Where options and tunes stand in the template's space; none where it has not all of them.
std::optional<Point> point_of(const Template& tmpl, const Bindings& options,
                              const Spelling& tunes) {
  Point point;
  std::size_t found = 0;
  for (const Parameter& parameter : tmpl.parameters()) {
    Result<Value> value = Error{};
    if (parameter.fallback) value = *parameter.fallback;
    if (const Value* const option = options.find(parameter.name)) value = parameter.check(*option);
    for (const auto& [name, words] : tunes.values) {
      if (name != parameter.name) continue;
      value = parameter.read(words[0]);
      ++found;
    }
    if (!value) return std::nullopt;
    point.push_back(value->number);
  }
  if (found != tunes.values.size()) return std::nullopt;
  return point;
}

// Gives a tune its default where that makes a later requirement the first broken one, until none
// is.
bool legalize(const Template& tmpl, Requirements& requirements, Point& point) {
  int broken = requirements.first_broken(point);
  const auto mends = [&](std::size_t i) {
    const Parameter& parameter = tmpl.parameters()[i];
    if (parameter.kind != Parameter::Kind::tune || !parameter.fallback) return false;
    Point changed = point;
    changed[i] = parameter.fallback->number;
    const int then = requirements.first_broken(changed);
    if (then >= 0 && then <= broken) return false;
    point = std::move(changed), broken = then;
    return true;
  };
  while (broken >= 0) {
    std::size_t i = 0;
    while (i < point.size() && !mends(i)) ++i;
    if (i == point.size()) return false;
  }
  return true;
}

Value value_at(const Parameter& parameter, std::int64_t number) {
  for (const Value& value : parameter.allowed)
    if (value.number == number) return value;
  if (parameter.type == ParameterType::real)
    return Value::real(std::bit_cast<float>(static_cast<std::int32_t>(number)));
  return parameter.type == ParameterType::boolean ? Value::boolean(number != 0)
                                                  : Value::integer(number);
}

}  // namespace

Result<std::vector<TuningBound>> parse_tuning_bounds(std::string_view text, std::string_view file) {
  std::vector<TuningBound> out;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    auto bound = parse_tuning_bound(line);
    if (!bound) {
      Error error = bound.error();
      error.what = cat(file, ":", number, ": ", error.what);
      return error;
    }
    out.push_back(*std::move(bound));
  }
  return out;
}

Result<void> check_tuning_bound(const TuningBound& bound, const Template& tmpl) {
  std::vector<std::string> tunes, given;
  for (const Parameter& parameter : tmpl.parameters())
    if (parameter.kind == Parameter::Kind::tune) tunes.push_back(parameter.name);
  for (const Spelling* part : {&bound.kernel, &bound.tunes}) {
    for (const auto& [name, values] : part->values) {
      const Parameter* const parameter = tmpl.parameter(name);
      if (parameter == nullptr) return unknown_parameter(tmpl, name);
      for (const std::string& word : values) DIECAST_CHECK(parameter->read(word));
      const bool is_tune = parameter->kind == Parameter::Kind::tune;
      if (is_tune != (part == &bound.tunes))
        return wrong_bound(is_tune ? "kernel" : "list of tunes", name);
      if (is_tune) given.push_back(name);
    }
  }
  if (given != tunes) return wrong_bound("list of tunes", join(given, " "));
  return {};
}

Result<std::span<const TuningBound>> built_in_bounds() {
  static const auto& parsed = *new Result<std::vector<TuningBound>>([] {
    const EmbeddedFile& file = *built_in_tuning();
    const std::string_view text(reinterpret_cast<const char*>(file.bytes), file.size);
    return parse_tuning_bounds(text, file.name);
  }());
  if (!parsed) return parsed.error();
  return std::span<const TuningBound>(*parsed);
}

Result<std::vector<BoundedTunes>> bounded_tunes(const Template& tmpl,
                                                std::span<const TuningBound> bounds,
                                                const Bindings& options, std::int64_t cols,
                                                const Target& target, int multiprocessors) {
  std::vector<const TuningBound*> fitting;
  for (const TuningBound& bound : bounds) {
    if (cols > bound.cols || !is_for(bound, tmpl.name(), options)) continue;
    if (!fitting.empty() && bound.cols > fitting[0]->cols) continue;
    if (!fitting.empty() && bound.cols < fitting[0]->cols) fitting.clear();
    fitting.push_back(&bound);
  }
  std::vector<BoundedTunes> out;
  if (fitting.empty()) return out;
  DIECAST_TRY(Requirements requirements, Requirements::compile(tmpl, target));
  for (const TuningBound* const bound : fitting) {
    const auto measured = point_of(tmpl, options, bound->tunes);
    if (!measured) continue;
    Point point = *measured;
    if (!legalize(tmpl, requirements, point)) continue;
    if (!bound->each_processor && point != *measured) continue;
    BoundedTunes& one = out.emplace_back();
    one.below = bound->each_processor ? bound->below * multiprocessors : bound->below;
    for (std::size_t i = 0; i < point.size(); ++i) {
      const Parameter& parameter = tmpl.parameters()[i];
      if (parameter.kind == Parameter::Kind::tune)
        one.tunes.set(parameter.name, value_at(parameter, point[i]));
    }
  }
  return out;
}

}  // namespace diecast
