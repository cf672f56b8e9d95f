// Lines that give names to expressions (let) or bring those of a device header (use), and what is
// checked of them at the end.
#include <diecast/base/text.h>
#include <diecast/template/parse/expression_parser.h>
#include <diecast/template/parse/header_parser.h>
#include <diecast/template/parse/word_binder.h>

#include <algorithm>

namespace diecast {
namespace {

constexpr std::string_view kForm =
    "write use <diecast/device/LEVEL/NAME.h> or <my/NAME.h>, as of an #include";

// Of the device header's lines: from behind the opening to the `*/`; none if it has none.
struct Lines {
  std::size_t begin = 0, end = 0;
};
std::optional<Lines> lines_of(std::string_view text) {
  const std::size_t opening = find_opening(text, 0);
  if (opening == std::string_view::npos) return std::nullopt;
  const std::size_t begin = opening + kOpening.size();
  return Lines{begin, std::min(text.find("*/", begin), text.size())};
}

}  // namespace

// `operand` is what stands behind the word, in the line that is being read.
Result<void> HeaderParser::read_use(std::string_view operand) {
  const SourceLine line = line_at(place_);
  const std::string_view whole = lines_.find(place_.file)->second[std::size_t(place_.line - 1)];
  const auto column = static_cast<int>(operand.data() - whole.data()) + 1;
  if (!operand.starts_with('<') || !operand.ends_with('>'))
    return error_at(line, column, "expected a device header in < and >", std::string(kForm));
  const std::string header(operand.substr(1, operand.size() - 2));
  const std::string* const text = files_.header_text(header);
  if (text == nullptr)
    return error_at(line, column,
                    cat("there is no device header ", quote(operand, 80), files_.meant(header)),
                    std::string(kForm));
  const auto lines = lines_of(*text);
  if (!lines)
    return error_at(line, column, cat(operand, " has no lines to use: no `", kOpening, "` in it"),
                    cat("write #include ", operand, " in the code"));
  if (!lines_.emplace(header, split(*text, '\n')).second) return {};
  template_->text_digest_ =
      xxh3_128(as_bytes(cat(template_->text_digest_.hex(), xxh3_128(as_bytes(*text)).hex())));
  const Place here = place_;
  place_ = {header, 0};
  DIECAST_CHECK(read_header(*text, lines->begin, lines->end));
  place_ = here;
  template_->used_.push_back(header);
  return {};
}

Result<std::vector<Parameter>> HeaderParser::enums_of(const std::string& header,
                                                      std::string_view text) {
  const auto lines = lines_of(text);
  if (!lines) return std::vector<Parameter>();
  const TemplateFiles none;
  HeaderParser parser(header, "", none);
  parser.lines_.emplace(header, split(text, '\n'));
  parser.place_.file = header;
  parser.only_enums_ = true;
  DIECAST_CHECK(parser.read_header(text, lines->begin, lines->end));
  return std::move(parser.template_->parameters_);
}

Result<void> HeaderParser::read_let(Tokens& tokens) {
  Let let;
  let.place = place_;
  let.comment = comment_;
  const Token name = tokens.peek();
  DIECAST_TRY(let.name, declare(tokens, Case::upper, "let"));
  DIECAST_CHECK(tokens.expect("=", cat("after the name of the let ", name.text)));
  DIECAST_TRY(let.value, ExpressionParser::parse(tokens));
  template_->lets_.push_back(std::move(let));
  return {};
}

template <class Visit>
Result<void> HeaderParser::each_expression(Visit visit) {
  Template& tmpl = *template_;
  for (Size& size : tmpl.sizes_)
    if (size.divisible) DIECAST_CHECK(visit(*size.divisible, size.place));
  for (Argument& argument : tmpl.arguments_) {
    for (Expression& extent : argument.shape) DIECAST_CHECK(visit(extent, argument.place));
    if (argument.stride) DIECAST_CHECK(visit(*argument.stride, argument.place));
    if (argument.align) DIECAST_CHECK(visit(*argument.align, argument.place));
  }
  for (Requirement& requirement : tmpl.requirements_)
    DIECAST_CHECK(visit(requirement.condition, requirement.place));
  LaunchRule& launch = tmpl.launch_;
  for (Expression& extent : launch.grid) DIECAST_CHECK(visit(extent, launch.places["grid"]));
  for (Expression& extent : launch.block) DIECAST_CHECK(visit(extent, launch.places["block"]));
  if (launch.resident) DIECAST_CHECK(visit(*launch.resident, launch.places["resident"]));
  if (launch.shared) DIECAST_CHECK(visit(*launch.shared, launch.places["shared"]));
  if (launch.cluster) DIECAST_CHECK(visit(*launch.cluster, launch.places["cluster"]));
  return {};
}

// Lets first and in order: what words the later expressions may have depends on them.
Result<void> HeaderParser::bind_words() {
  const WordBinder binder(*template_);
  for (Let& let : template_->lets_) {
    DIECAST_CHECK(binder.bind(let.value, line_at(let.place)));
    let.type = binder.type(let.value);
    if (const Parameter* const set = binder.set(let.value)) let.set = set->name;
    if (let.type == ParameterType::type)
      return error_on(let.place, let.name, cat("the let ", let.name, " is an element type"),
                      "a let is a number, a bool or a word: choose types in the code");
  }
  return each_expression([&](Expression& expression, const Place& place) {
    return binder.bind(expression, line_at(place));
  });
}

Result<void> HeaderParser::check_lets() {
  for (std::size_t i = 0; i < template_->lets_.size(); ++i) DIECAST_CHECK(check_let(i));
  const std::string bare = bare_code(template_->code());
  for (const Let& let : template_->lets_)
    if (let.place.file == template_->file() && !is_named(let.name) &&
        find_word(bare, let.name) == std::string::npos)
      return error_on(let.place, let.name, cat("nothing names the let `", let.name, "`"),
                      "remove the line");
  return {};
}

Result<void> HeaderParser::check_let(std::size_t index) const {
  const std::vector<Let>& lets = template_->lets_;
  const Let& let = lets[index];
  for (const Expression::Name& name : let.value.names()) {
    const Let* const other = template_->let(name.name);
    if (other == &let)
      return error_at(line_at(let.place), name.column, cat("`", let.name, "` is defined by itself"),
                      "define it by parameters and by lets above it");
    if (other > &let)
      return error_at(line_at(let.place), name.column,
                      cat("the let `", name.name, "` stands below, on ", seen(other->place)),
                      "move that line above this one");
    if (const Use use = needed_use(name.name); use == Use::shape || use == Use::launch)
      return error_at(line_at(let.place), name.column,
                      cat("`", name.name, "` is known only at launch, and a let before compiling"),
                      "define it by names in UPPER CASE, and write the rest where it is used");
  }
  return check_expression(let.value, let.place, Use::fact);
}

bool HeaderParser::is_named(std::string_view let) {
  const auto names = [&](const Expression& expression) {
    return std::ranges::find(expression.names(), let, &Expression::Name::name) !=
           expression.names().end();
  };
  bool found =
      std::ranges::any_of(template_->lets_, [&](const Let& other) { return names(other.value); });
  (void)each_expression([&](const Expression& expression, const Place&) {
    found = found || names(expression);
    return Result<void>();
  });
  return found;
}

}  // namespace diecast
