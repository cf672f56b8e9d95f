// Bare words and kinds of values; see word_binder.h.
#include <diecast/base/text.h>
#include <diecast/template/parse/word_binder.h>

namespace diecast {
namespace {

std::vector<std::string> words_of(const Parameter& set) {
  std::vector<std::string> words;
  for (const Value& value : set.allowed) words.push_back(value.word);
  return words;
}

bool has_word(const Parameter& set, std::string_view word) {
  for (const Value& value : set.allowed)
    if (value.word == word) return true;
  return false;
}

bool compares_equal(Operation operation) {
  return operation == Operation::equal || operation == Operation::not_equal;
}
bool orders(Operation operation) {
  return operation >= Operation::less && operation <= Operation::greater_equal;
}

}  // namespace

const Parameter* WordBinder::set_of(const Node& node) const {
  if (node.operation == Operation::choose) {
    const Parameter* const yes = set_of(*node.b);
    return yes != nullptr ? yes : set_of(*node.c);
  }
  if (node.operation != Operation::name) return nullptr;
  if (const Let* let = template_.let(node.name)) return template_.parameter(let->set);
  const std::string_view name(node.name);
  for (const Parameter& parameter : template_.parameters()) {
    if (parameter.type != ParameterType::enumeration || !name.starts_with(parameter.name)) continue;
    const std::string_view rest = name.substr(parameter.name.size());
    if (rest.empty() || (rest[0] == '_' && has_word(parameter, rest.substr(1)))) return &parameter;
  }
  return nullptr;
}

Result<void> WordBinder::bind(Expression& expression, const SourceLine& line) const {
  if (!expression.root_) return {};
  const At at{expression, line};
  if (is_real(*expression.root_)) return no_number(*expression.root_, at);
  return walk(*expression.root_, at);
}

Result<void> WordBinder::walk(Node& node, const At& at) const {
  DIECAST_CHECK(bind_reals(node, at));
  for (Node* child : {node.a.get(), node.b.get(), node.c.get()})
    if (child != nullptr) DIECAST_CHECK(walk(*child, at));
  if (node.operation == Operation::choose) {
    const Parameter* const set = set_of(node);
    if (set == nullptr) return {};
    DIECAST_CHECK(give(*node.b, *set, at));
    return give(*node.c, *set, at);
  }
  if (!compares_equal(node.operation) && !orders(node.operation)) return {};
  const Parameter* const left = set_of(*node.a);
  const Parameter* const set = left != nullptr ? left : set_of(*node.b);
  if (set == nullptr) return {};
  if (orders(node.operation))
    return error_at(
        at.line, node.column, cat("the words of ", set->name, " have no order"),
        cat("name those that are meant: ", set->name, " in {", set->allowed[0].word, ", ...}"));
  DIECAST_CHECK(give(*node.a, *set, at));
  return give(*node.b, *set, at);
}

bool WordBinder::is_real(const Node& node) const {
  return node.operation == Operation::real || real_of(node) != nullptr;
}

const Parameter* WordBinder::real_of(const Node& node) const {
  if (node.operation != Operation::name) return nullptr;
  const Parameter* const parameter = template_.parameter(node.name);
  const bool real = parameter != nullptr && parameter->type == ParameterType::real;
  return real ? parameter : nullptr;
}

Error WordBinder::no_number(const Node& node, const At& at) const {
  return error_at(at.line, node.column,
                  cat("`", node.name, "` is a float, which is no number here"),
                  "compare a float option with values of its set: LIMIT == 7.0, LIMIT in {0, 7.0}");
}

// Floats stand on the two sides of == and != alone.
Result<void> WordBinder::bind_reals(Node& node, const At& at) const {
  if (compares_equal(node.operation)) {
    const Parameter* const left = real_of(*node.a);
    const Parameter* const set = left != nullptr ? left : real_of(*node.b);
    if (set != nullptr) return give_real(left != nullptr ? *node.b : *node.a, *set, at);
  }
  for (const Node* child : {node.a.get(), node.b.get(), node.c.get()})
    if (child != nullptr && is_real(*child)) return no_number(*child, at);
  return {};
}

// What is compared with the parameter becomes the float of its set.
Result<void> WordBinder::give_real(Node& node, const Parameter& set, const At& at) const {
  if (real_of(node) != nullptr) return {};
  const bool minus = node.operation == Operation::negate;
  const Node& number = minus ? *node.a : node;
  std::optional<Value> value;
  if (number.operation == Operation::real || number.operation == Operation::literal)
    value = parse_real(cat(minus ? "-" : "",
                           number.operation == Operation::real ? number.name : cat(number.number)));
  if (!value || !set.check(*value))
    return error_at(at.line, node.column, cat("this is no value of ", set.name),
                    cat("write ", set.allowed_text()));
  node.operation = Operation::real;
  node.number = value->number;
  node.name = value->word;
  node.a.reset();
  return {};
}

// The node is a word of that set, or chooses between such.
Result<void> WordBinder::give(Node& node, const Parameter& set, const At& at) const {
  if (node.operation == Operation::name) return give_name(node, set, at);
  if (node.operation != Operation::choose)
    return error_at(at.line, node.column, cat(set.name, " is a word, and this is a number"),
                    cat("write ", set.allowed_text()));
  DIECAST_CHECK(give(*node.b, set, at));
  return give(*node.c, set, at);
}

Result<void> WordBinder::give_name(Node& node, const Parameter& set, const At& at) const {
  if (const Parameter* const own = set_of(node)) {
    if (own->allowed == set.allowed) return {};
    return error_at(at.line, node.column,
                    cat("`", node.name, "` and ", set.name, " do not have the same words"),
                    cat("compare ", set.name, " with ", set.allowed_text()));
  }
  if (!has_word(set, node.name))
    return error_at(
        at.line, node.column,
        cat("`", node.name, "` is no word of ", set.name, did_you_mean(node.name, words_of(set))),
        cat("write ", set.allowed_text()));
  const std::string enumerator = cat(set.name, "_", node.name);
  for (Expression::Name& name : at.expression.names_)
    if (name.column == node.column && name.name == node.name) name.name = enumerator;
  node.name = enumerator;
  return {};
}

bool WordBinder::is_bool(const Node& node) const {
  switch (node.operation) {
    case Operation::literal:
      return !node.name.empty();
    case Operation::name: {
      const Parameter* const parameter = template_.parameter(node.name);
      const Let* const let = template_.let(node.name);
      return node.name == "host" ||
             (parameter != nullptr && parameter->type == ParameterType::boolean) ||
             (let != nullptr && let->type == ParameterType::boolean);
    }
    case Operation::choose:
      return is_bool(*node.b) && is_bool(*node.c);
    default:
      return orders(node.operation) || compares_equal(node.operation) ||
             node.operation == Operation::invert || node.operation == Operation::both ||
             node.operation == Operation::either;
  }
}

bool WordBinder::is_element_type(const Node& node) const {
  if (node.operation == Operation::choose)
    return is_element_type(*node.b) || is_element_type(*node.c);
  if (node.operation != Operation::name) return false;
  const Parameter* const parameter = template_.parameter(node.name);
  return parse_dtype(node.name) || (parameter != nullptr && parameter->type == ParameterType::type);
}

ParameterType WordBinder::type(const Expression& expression) const {
  if (!expression.root_) return ParameterType::integer;
  const Node& node = *expression.root_;
  return set_of(node) != nullptr ? ParameterType::enumeration
         : is_element_type(node) ? ParameterType::type
         : is_bool(node)         ? ParameterType::boolean
                                 : ParameterType::integer;
}

const Parameter* WordBinder::set(const Expression& expression) const {
  return expression.root_ ? set_of(*expression.root_) : nullptr;
}

}  // namespace diecast
