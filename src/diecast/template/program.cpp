// Compiling an expression to a short stack program and running it; see Program in expr.h.
#include <diecast/base/text.h>
#include <diecast/template/expr_node.h>

#include <algorithm>
#include <array>
#include <utility>

namespace diecast {
namespace {

// Instructions beyond the operations of expr_node.h, which take one or two values from the stack.
enum Code : std::uint8_t {
  kPush = static_cast<std::uint8_t>(Operation::align_up) + 1,
  kJump,          // to `jump`
  kJumpIfZero,    // takes a value
  kBothOrJump,    // a zero stays and jumps; anything else is taken
  kEitherOrJump,  // a non-zero stays as 1 and jumps; a zero is taken
  kTruth,         // a value becomes 0 or 1
  // A power of two on the right, `operand` + 1: launches divide by blocks and threads, and a
  // division takes longer than all the rest of a rule. `jump` is its logarithm.
  kCeilDivPower,
  kAlignUpPower,
  kDividePower
};

// Each is a case of its own in evaluate: a switch inside a switch would be a second jump a step.
#define DIECAST_OPERATIONS(X)                                                                \
  X(negate)                                                                                  \
  X(invert)                                                                                  \
  X(multiply)                                                                                \
  X(divide)                                                                                  \
  X(remainder)                                                                               \
  X(add) X(subtract) X(less) X(less_equal) X(greater) X(greater_equal) X(equal) X(not_equal) \
      X(shift_left) X(shift_right) X(bit_and) X(bit_or) X(bit_xor) X(complement) X(minimum)  \
          X(maximum) X(ceil_div) X(align_up)

// The right value of an instruction: `operand` itself, the slot of that number, or from the stack.
enum Right : std::uint8_t { kConstant, kFromSlot, kStack };

}  // namespace

std::optional<std::int64_t> fold(const Expression::Node& node, const Names& constant) {
  switch (node.operation) {
    case Operation::literal:
    case Operation::real:
      return node.number;
    case Operation::name:
      return constant(node.name);
    case Operation::bits:
      return constant("bits:" + node.name);
    default:
      break;
  }
  const auto a = fold(*node.a, constant);
  if (!a) return std::nullopt;
  if (node.operation == Operation::choose) return fold(*a != 0 ? *node.b : *node.c, constant);
  if (node.operation == Operation::both && *a == 0) return 0;
  if (node.operation == Operation::either && *a != 0) return 1;
  const auto b = node.b ? fold(*node.b, constant) : std::optional<std::int64_t>(0);
  if (!b) return std::nullopt;
  if (node.operation == Operation::both || node.operation == Operation::either) return *b != 0;
  std::int64_t value = 0;
  if (apply(node.operation, *a, *b, &value) != Fault::none) return std::nullopt;
  return value;
}

class ProgramWriter {
 public:
  using Slots = std::function<std::optional<int>(std::string_view)>;
  ProgramWriter(const Names& constant, const Slots& slot) : constant_(constant), slot_(slot) {}

  bool write(const Expression::Node& node) {
    if (const auto value = fold(node, constant_)) return emit(kPush, *value), true;
    if (node.operation == Operation::name) return write_slot(node.name);
    if (node.operation == Operation::bits) return write_slot("bits:" + node.name);
    if (node.operation == Operation::choose) return write_choice(node);
    if (node.operation == Operation::both || node.operation == Operation::either)
      return write_logic(node);
    return write(*node.a) && write_operation(node);
  }

  std::vector<Program::Instruction> code;
  std::size_t slots = 0;
  std::string unknown;

 private:
  std::size_t emit(std::uint8_t operation, std::int64_t operand, Right right = kConstant) {
    code.push_back({operation, right, 0, operand});
    return code.size() - 1;
  }
  void land(std::size_t at) { code[at].jump = static_cast<std::int32_t>(code.size()); }

  bool write_slot(const std::string& name) {
    const auto number = slot_(name);
    if (!number || *number < 0) return unknown = name, false;
    slots = std::max(slots, static_cast<std::size_t>(*number) + 1);
    return emit(kPush, *number, kFromSlot), true;
  }

  // The left value is on the stack. A right value that is one push becomes part of the operation.
  bool write_operation(const Expression::Node& node) {
    const auto operation = static_cast<std::uint8_t>(node.operation);
    if (!node.b) return emit(operation, 0), true;
    const std::size_t before = code.size();
    if (!write(*node.b)) return false;
    const Program::Instruction last = code.back();
    if (code.size() != before + 1 || last.operation != kPush)
      return emit(operation, 0, kStack), true;
    code.pop_back();
    if (last.right == kConstant && write_power(node, last.operand)) return true;
    return emit(operation, last.operand, static_cast<Right>(last.right)), true;
  }

  // False: no operation by a power of two.
  bool write_power(const Expression::Node& node, std::int64_t right) {
    if (right < 1 || (right & (right - 1)) != 0) return false;
    const bool rounds = node.operation == Operation::ceil_div;
    if (!rounds && node.operation != Operation::align_up && node.operation != Operation::divide)
      return false;
    if (right == 1 && (node.operation == Operation::divide || is_rounding(node.a->operation)))
      return true;
    emit(rounds                                  ? kCeilDivPower
         : node.operation == Operation::align_up ? kAlignUpPower
                                                 : kDividePower,
         right - 1);
    code.back().jump = std::countr_zero(static_cast<std::uint64_t>(right));
    return true;
  }
  static bool is_rounding(Operation operation) {
    return operation == Operation::ceil_div || operation == Operation::align_up;
  }

  bool write_choice(const Expression::Node& node) {
    if (const auto condition = fold(*node.a, constant_))
      return write(*condition ? *node.b : *node.c);
    if (!write(*node.a)) return false;
    const std::size_t skip = emit(kJumpIfZero, 0);
    if (!write(*node.b)) return false;
    const std::size_t end = emit(kJump, 0);
    land(skip);
    if (!write(*node.c)) return false;
    return land(end), true;
  }

  bool write_logic(const Expression::Node& node) {
    if (!write(*node.a)) return false;
    const std::size_t end =
        emit(node.operation == Operation::both ? kBothOrJump : kEitherOrJump, 0);
    if (!write(*node.b)) return false;
    emit(kTruth, 0);
    return land(end), true;
  }

  const Names& constant_;
  const Slots& slot_;
};

Result<Program> Program::compile(const Expression& expression, const Names& constant,
                                 const std::function<std::optional<int>(std::string_view)>& slot) {
  ProgramWriter writer(constant, slot);
  if (!expression.root_) {
    writer.code.push_back({kPush, kConstant, 0, 0});
  } else if (!writer.write(*expression.root_)) {
    return Error{
        ErrorCode::unknown_parameter,
        cat(expression.where_, ": `", writer.unknown, "` has no value in ", expression.text_),
        "give it a value"};
  }
  Program program;
  program.code_ = std::move(writer.code);
  program.slots_ = writer.slots;
  return program;
}

// The value on top is a variable of its own: through memory every step would wait for the last.
bool Program::evaluate(std::span<const std::int64_t> slots, std::int64_t* result) const noexcept {
  if (slots.size() < slots_) return false;
  std::array<std::int64_t, kDeepest + 2> stack;
  std::int64_t* below = stack.data();  // past the value under the top
  std::int64_t top = 0;
  const Instruction* const code = code_.data();
  const Instruction* const end = code + code_.size();
  for (const Instruction* each = code; each != end;) {
    const Instruction& step = *each++;
    std::int64_t right = step.operand;
    if (step.right == kFromSlot) right = slots[static_cast<std::size_t>(right)];
    if (step.right == kStack) right = std::exchange(top, *--below);
    switch (step.operation) {
      case kPush:
        *below++ = std::exchange(top, right);
        break;
      case kJump:
        each = code + step.jump;
        break;
      case kJumpIfZero:
        if (top == 0) each = code + step.jump;
        top = *--below;
        break;
      case kBothOrJump:
      case kEitherOrJump:
        if ((top != 0) == (step.operation == kEitherOrJump)) {
          top = top != 0;
          each = code + step.jump;
        } else {
          top = *--below;
        }
        break;
      case kTruth:
        top = top != 0;
        break;
      case kCeilDivPower:
        if (top < 0) return false;
        top = (top >> step.jump) + ((top & right) != 0);
        break;
      case kAlignUpPower:
        if (top < 0 || __builtin_add_overflow(top, right, &top)) return false;
        top &= ~right;
        break;
      case kDividePower:  // towards zero
        top = (top + (top < 0 ? right : 0)) >> step.jump;
        break;
#define DIECAST_OPERATION(name)                                                \
  case static_cast<std::uint8_t>(Operation::name):                             \
    if (apply(Operation::name, top, right, &top) != Fault::none) return false; \
    break;
        DIECAST_OPERATIONS(DIECAST_OPERATION)
#undef DIECAST_OPERATION
      default:
        return false;
    }
  }
  *result = top;
  return true;
}

std::optional<std::int64_t> Program::constant() const {
  if (code_.empty()) return 0;
  if (code_.size() != 1 || code_[0].operation != kPush || code_[0].right != kConstant)
    return std::nullopt;
  return code_[0].operand;
}

std::optional<int> Program::slot() const {
  if (code_.size() != 1 || code_[0].operation != kPush || code_[0].right != kFromSlot)
    return std::nullopt;
  return static_cast<int>(code_[0].operand);
}

std::optional<Program::Rounded> Program::rounded_slot() const {
  const bool divided = code_.size() == 3 && code_[2].operation == kDividePower;
  if (code_.size() != 2 && !divided) return std::nullopt;
  if (code_[0].right != kFromSlot || code_[1].operation != kAlignUpPower) return std::nullopt;
  const int zeros = code_[1].jump - (divided ? code_[2].jump : 0);
  if (zeros < 0) return std::nullopt;
  return Rounded{static_cast<int>(code_[0].operand), zeros};
}

}  // namespace diecast
