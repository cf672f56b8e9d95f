// Reads a .cu file into a Template: prose, header line by line, where the code begins; then checks
// that every name used is declared and every declaration can be launched. Not a public header.
#pragma once

#include <diecast/template/embedded.h>
#include <diecast/template/parse/code_scan.h>
#include <diecast/template/parse/token.h>
#include <diecast/template/template.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace diecast {

// "; did you mean `f32`?" for an element type that is misspelt or has its name in C++ or elsewhere.
std::string meant_type(std::string_view word, const std::vector<std::string>& known);

class HeaderParser {
 public:
  static Result<std::shared_ptr<const Template>> parse(std::string_view name, std::string_view text,
                                                       const TemplateFiles& files);
  // The enum parameters that a device header's own lines declare; none without such lines.
  static Result<std::vector<Parameter>> enums_of(const std::string& header, std::string_view text);

 private:
  HeaderParser(std::string_view name, std::string_view text, const TemplateFiles& files);

  // The file's three parts.
  Result<void> read_file();
  Result<void> read_prose(std::size_t end);
  Result<void> read_header(std::string_view text, std::size_t begin, std::size_t end);
  Result<void> read_code(std::size_t begin);
  Result<void> check_directives(std::string_view bare) const;
  Result<void> check_limits(std::string_view bare) const;
  Result<void> check_condition(const Directive& line, std::string_view bare) const;
  Error error_in_code(std::string_view bare, std::string_view at, std::string_view what,
                      std::string fix) const;
  SourceLine line_at(const Place& place) const;
  SourceLine line_at_offset(std::size_t offset) const;

  // One line of the header: its first word decides.
  Result<void> read_line(std::string_view text, int column);
  Result<void> read_use(std::string_view operand);
  Result<void> read_parameter(Tokens& tokens, Parameter::Kind kind);
  Result<ParameterType> read_type(Tokens& tokens);
  Result<void> read_allowed(Tokens& tokens, Parameter& parameter);
  Result<void> read_default(Tokens& tokens, Parameter& parameter);
  Result<void> read_approx(Tokens& tokens, Parameter& parameter);
  Result<Value> read_value(Tokens& tokens, const Parameter& parameter);
  Result<void> read_let(Tokens& tokens);
  Result<void> read_sample(Tokens& tokens);
  Result<void> read_size(Tokens& tokens);
  Result<void> read_argument(Tokens& tokens);
  Result<void> read_tensor(Tokens& tokens, Argument& argument);
  Result<void> read_fact(Tokens& tokens, Argument& argument);
  Result<void> read_optional(const Tokens& tokens, const Token& at, Argument& argument);
  Result<void> read_structure(Tokens& tokens, Argument& argument);
  Result<void> read_type_name(Tokens& tokens, Argument& argument);
  Result<void> read_require(Tokens& tokens);
  Result<void> read_launch(Tokens& tokens);
  Result<void> read_clause(Tokens& tokens, const Token& clause);
  Result<void> read_target(Tokens& tokens);
  Result<void> read_exchange(Tokens& tokens);

  // A new name: an identifier of the right case, not reserved, not taken.
  enum class Case { upper, lower, either };
  Result<std::string> declare(Tokens& tokens, Case letters, std::string_view what);
  Result<void> check_name(const Tokens& tokens, const Token& token, Case letters,
                          std::string_view what);

  // After the last line.
  Result<void> check();
  Result<void> bind_words();
  Result<void> check_lets();
  Result<void> check_let(std::size_t index) const;
  bool is_named(std::string_view let);
  // Calls `visit(expression, place)` for each expression except those of lets, until one fails.
  template <class Visit>
  Result<void> each_expression(Visit visit);
  Result<void> check_sizes() const;
  Result<void> check_arguments() const;
  Result<void> check_samples() const;
  Result<void> check_launch() const;
  Result<void> check_waits() const;
  // What may stand in an expression: names known before compiling; sizes too; the device too.
  enum class Use { fact, shape, launch, never };
  Use needed_use(std::string_view name) const;
  Result<void> check_expression(const Expression& expression, const Place& place, Use use) const;
  Result<void> check_expression_name(const Expression::Name& name, const Place& place,
                                     Use use) const;
  Result<void> check_bits(const Expression::Name& name, const Place& place) const;
  std::vector<std::string> usable_names(Use use) const;
  Error error_on(const Place& place, std::string_view word, std::string_view what,
                 std::string fix) const;
  // "line 12", "line 4 of diecast/device/scales/scale_layout.h"
  std::string seen(const Place& place) const;

  using Places = std::map<std::string, Place, std::less<>>;
  const TemplateFiles& files_;
  std::shared_ptr<Template> template_ = std::make_shared<Template>();
  std::map<std::string, std::vector<std::string_view>, std::less<>> lines_;  // of each file
  Places declared_;  // parameters, lets and sizes
  Places clauses_;   // of launch; and the lines that stand once
  Places sampled_;
  std::map<std::string, std::int64_t, std::less<>> words_;  // host, cc, element types, enumerators
  Place place_;                                             // of the line being read
  bool only_enums_ = false;                                 // other lines are passed over
  std::string comment_;                                     // of that line
};

}  // namespace diecast
