// Compiling an expression to a short stack program and running it; see Program in expr.h.
#include <diecast/base/text.h>
#include <diecast/template/expr_node.h>

#include <array>

namespace diecast {
namespace {

// Instructions beyond the operations of expr_node.h, which take one or two values from the stack.
enum Code : std::uint8_t {
  kPush = 64,     // operand
  kSlot,          // slots[operand]
  kJump,          // to `jump`
  kJumpIfZero,    // takes a value
  kBothOrJump,    // a zero stays and jumps; anything else is taken
  kEitherOrJump,  // a non-zero stays as 1 and jumps; a zero is taken
  kTruth          // a value becomes 0 or 1
};

// A constant subtree that has no value (overflow, division by zero) is not folded: whether it is
// ever reached is known only at launch.
std::optional<std::int64_t> fold(const Expression::Node& node, const Names& constant) {
  switch (node.operation) {
    case Operation::literal:
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

// Replaces the operation's one or two values on the stack by its result.
inline bool operate(Operation operation, std::int64_t*& top) noexcept {
  const bool one = operation == Operation::negate || operation == Operation::invert;
  if (!one) --top;
  return apply(operation, top[0], one ? 0 : top[1], top) == Fault::none;
}

}  // namespace

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
    if (!write(*node.a) || (node.b && !write(*node.b))) return false;
    return emit(static_cast<std::uint8_t>(node.operation), 0), true;
  }

  std::vector<Program::Instruction> code;
  std::string unknown;

 private:
  std::size_t emit(std::uint8_t operation, std::int64_t operand) {
    code.push_back({operation, 0, operand});
    return code.size() - 1;
  }
  void land(std::size_t at) { code[at].jump = static_cast<std::int32_t>(code.size()); }

  bool write_slot(const std::string& name) {
    const auto number = slot_(name);
    if (!number) return unknown = name, false;
    return emit(kSlot, *number), true;
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
    writer.code.push_back({kPush, 0, 0});
  } else if (!writer.write(*expression.root_)) {
    return Error{
        ErrorCode::unknown_parameter,
        cat(expression.where_, ": `", writer.unknown, "` has no value in ", expression.text_),
        "give it a value"};
  }
  Program program;
  program.code_ = std::move(writer.code);
  return program;
}

bool Program::evaluate(std::span<const std::int64_t> slots, std::int64_t* result) const noexcept {
  std::array<std::int64_t, kDeepest + 2> stack;
  std::int64_t* top = stack.data();  // the value on top; stack[0] stays free
  for (std::size_t at = 0; at < code_.size(); ++at) {
    const Instruction& each = code_[at];
    bool jump = false;
    switch (each.operation) {
      case kPush:
        *++top = each.operand;
        break;
      case kSlot:
        if (static_cast<std::size_t>(each.operand) >= slots.size()) return false;
        *++top = slots[static_cast<std::size_t>(each.operand)];
        break;
      case kJump:
        jump = true;
        break;
      case kJumpIfZero:
        jump = *top-- == 0;
        break;
      case kBothOrJump:
        jump = *top == 0;
        if (!jump) --top;
        break;
      case kEitherOrJump:
        jump = *top != 0;
        jump ? * top = 1 : * top-- = 0;
        break;
      case kTruth:
        *top = *top != 0;
        break;
      default:
        if (!operate(static_cast<Operation>(each.operation), top)) return false;
    }
    if (jump) at = static_cast<std::size_t>(each.jump) - 1;
  }
  *result = code_.empty() ? 0 : *top;
  return true;
}

std::optional<std::int64_t> Program::constant() const {
  if (code_.empty()) return 0;
  if (code_.size() != 1 || code_[0].operation != kPush) return std::nullopt;
  return code_[0].operand;
}

}  // namespace diecast
