// Bringing an expression into the form of steps: what is not yet a step is held back as one, so
// that a rounding and a limit join the product before them.
#include <diecast/template/expr_node.h>
#include <diecast/template/step_program.h>

#include <algorithm>
#include <array>
#include <bit>

namespace diecast {

class StepWriter {
 public:
  using Step = StepProgram::Step;
  StepWriter(StepProgram& program, const Names& constant, const StepProgram::Slots& slot)
      : program_(program), constant_(constant), slot_(slot) {}

  std::optional<Step> write(const Expression::Node& given) {
    if (const auto value = fold(given, constant_)) return of_constant(*value);
    const Expression::Node& node = plain(given);
    switch (node.operation) {
      case Operation::name:
        return of_name(node.name);
      case Operation::multiply:
      case Operation::add:
        return of_two(node);
      case Operation::minimum:
        return limited(node);
      case Operation::divide:
      case Operation::ceil_div:
      case Operation::align_up:
        return rounded(node);
      case Operation::choose:
        return left_over(node);
      default:
        return std::nullopt;
    }
  }

  // The register of its value: its own if there is nothing left to compute.
  std::optional<int> settle(const Step& step) {
    if (is_sum(step) && step.b == StepProgram::kOne && step.c == StepProgram::kZero &&
        step.add == 0 && step.times == 1)
      return step.a;
    if (program_.steps_.size() == StepProgram::kMostSteps) return std::nullopt;
    program_.steps_.push_back(step);
    return StepProgram::kOne + static_cast<int>(program_.steps_.size());
  }

 private:
  static constexpr std::int64_t kMostTimes = 1 << 20;

  std::optional<std::int64_t> power_of_two(const Expression::Node& node) const {
    const auto value = fold(node, constant_);
    const bool is = value && *value > 0 && std::has_single_bit(static_cast<std::uint64_t>(*value));
    return is ? value : std::nullopt;
  }
  // What an expression comes to where conditions are known and nothing is added.
  const Expression::Node& plain(const Expression::Node& node) const {
    if (node.operation == Operation::add && fold(*node.b, constant_) == 0) return plain(*node.a);
    if (node.operation != Operation::choose) return node;
    const auto condition = fold(*node.a, constant_);
    return condition ? plain(*condition != 0 ? *node.b : *node.c) : node;
  }
  // Of a product that is divided by a multiple of its constant factor the rest: `by` is then what
  // is left to divide by, `times` what both lost.
  const Expression::Node& reduced(const Expression::Node& given, std::int64_t& by,
                                  std::int64_t& times) const {
    const Expression::Node& node = plain(given);
    if (node.operation != Operation::multiply) return node;
    const auto factor = fold(*node.b, constant_);
    if (!factor || *factor < 1 || *factor > kMostTimes / times || by % *factor != 0) return node;
    by /= *factor;
    times *= *factor;
    return reduced(*node.a, by, times);
  }

  Step of_registers(int a, int b, int c) const {
    const auto number = [](int value) { return static_cast<std::uint8_t>(value); };
    return {number(a), number(b), number(c)};
  }
  std::optional<Step> of_register(std::optional<int> number) const {
    if (!number) return std::nullopt;
    return of_registers(*number, StepProgram::kOne, StepProgram::kZero);
  }
  // Neither rounded nor limited yet.
  static bool is_sum(const Step& step) { return step.keep == -1 && undivided(step) && free(step); }
  static bool undivided(const Step& step) { return step.shift == 0 && step.odd == 1; }
  static bool free(const Step& step) { return step.most == INT64_MAX; }

  std::optional<Step> of_constant(std::int64_t value) const {
    if (value < 0) return std::nullopt;
    Step step = *of_register(value == 1 ? StepProgram::kOne : StepProgram::kZero);
    if (value > 1) step.add = value;
    return step;
  }
  std::optional<Step> of_name(const std::string& name) const { return of_register(slot_(name)); }

  std::optional<Step> of_two(const Expression::Node& node) {
    const auto left = write(*node.a);
    const auto a = left ? settle(*left) : std::nullopt;
    const auto right = a ? write(*node.b) : std::nullopt;
    const auto b = right ? settle(*right) : std::nullopt;
    if (!b) return std::nullopt;
    return node.operation == Operation::multiply ? of_registers(*a, *b, StepProgram::kZero)
                                                 : of_registers(*a, StepProgram::kOne, *b);
  }

  std::optional<Step> limited(const Expression::Node& node) {
    auto most = fold(*node.b, constant_);
    const Expression::Node& other = most ? *node.a : *node.b;
    if (!most) most = fold(*node.a, constant_);
    if (!most || *most < 0) return std::nullopt;
    auto step = write(other);
    if (step) step->most = std::min(step->most, *most);
    return step;
  }

  std::optional<Step> rounded(const Expression::Node& node) {
    const bool aligns = node.operation == Operation::align_up;
    auto by = aligns ? power_of_two(*node.b) : fold(*node.b, constant_);
    if (!by || *by < 1) return std::nullopt;
    std::int64_t times = 1;
    auto step = write(aligns ? *node.a : reduced(*node.a, *by, times));
    if (!step || (*by == 1 && times == 1)) return step;
    const bool divides = node.operation == Operation::divide;
    if (!(divides ? undivided(*step) && free(*step) : is_sum(*step)))
      step = of_register(settle(*step));
    if (!step || step->times * times > kMostTimes) return std::nullopt;
    step->times = static_cast<std::int32_t>(step->times * times);
    if (!divides && __builtin_add_overflow(step->add, *by - 1, &step->add)) return std::nullopt;
    if (aligns) {
      step->keep = -*by;
    } else {
      const int shift = std::countr_zero(static_cast<std::uint64_t>(*by));
      step->shift = static_cast<std::uint8_t>(shift);
      step->odd = *by >> shift;
      const std::uint64_t odd = static_cast<std::uint64_t>(step->odd), two63 = step->part;
      step->part = (two63 + odd - 1) / odd;
    }
    return step;
  }

  // `a % power == 0 ? 0 : b`: b times whether anything is left over.
  std::optional<Step> left_over(const Expression::Node& node) {
    const Expression::Node* asked = node.a.get();
    while (asked->operation == Operation::either && fold(*asked->a, constant_) == 0)
      asked = asked->b.get();
    const Expression::Node& condition = *asked;
    if (condition.operation != Operation::equal || fold(*condition.b, constant_) != 0 ||
        fold(*node.b, constant_) != 0 || condition.a->operation != Operation::remainder)
      return std::nullopt;
    const auto power = power_of_two(*condition.a->b);
    if (!power) return std::nullopt;
    auto left = write(*condition.a->a);
    if (left && !is_sum(*left)) left = of_register(settle(*left));
    if (!left) return std::nullopt;
    left->keep = *power - 1;
    left->most = 1;
    const auto any = settle(*left);
    const auto times = any ? write(*node.c) : std::nullopt;
    const auto b = times ? settle(*times) : std::nullopt;
    if (!b) return std::nullopt;
    return of_registers(*any, *b, StepProgram::kZero);
  }

  StepProgram& program_;
  const Names& constant_;
  const StepProgram::Slots& slot_;
};

std::optional<int> StepProgram::add(const Expression& expression, const Names& constant,
                                    const Slots& slot) {
  if (!expression.root_) return kZero;
  StepWriter writer(*this, constant, slot);
  const auto step = writer.write(*expression.root_);
  return step ? writer.settle(*step) : std::nullopt;
}

bool StepProgram::holds(std::int64_t most) const {
  std::array<std::int64_t, 256> values;
  values.fill(most);
  values[kZero] = 0;
  values[kOne] = 1;
  std::size_t result = kOne;
  for (const Step& step : steps_) {
    std::int64_t value = 0, whole = 0;
    if (__builtin_mul_overflow(values[step.a], values[step.b], &value) ||
        __builtin_add_overflow(value, values[step.c], &value) ||
        __builtin_add_overflow(value, step.add, &value) ||
        __builtin_mul_overflow(value, std::int64_t{step.times}, &whole))
      return false;
    const std::int64_t kept = step.keep < 0 ? value & step.keep : step.keep;  // bits of any number
    value = kept >> step.shift;
    // n times `part` is n / odd times 2^63 and less than n more: exact while n * odd is below 2^63.
    if (step.odd != 1 && __builtin_mul_overflow(value, step.odd, &whole)) return false;
    values[++result] = std::min(value / step.odd, step.most);
  }
  return true;
}

}  // namespace diecast
