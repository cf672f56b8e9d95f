// Reading the one spelling: NAME PARAMETER=VALUE ... @ TARGET ...; see specialization.h.
#include <diecast/base/text.h>
#include <diecast/template/parse/token.h>
#include <diecast/template/specialization.h>

namespace diecast {
namespace {

Result<void> read_setting(const SourceLine& line, int column, std::string_view word,
                          Spelling& spelling) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || !is_identifier(word.substr(0, equals)))
    return error_at(line, column, cat(quote(word, 40), " is no setting"),
                    "write settings as PARAMETER=VALUE and targets after ` @ `");
  const std::string name(word.substr(0, equals));
  for (const auto& [earlier, values] : spelling.values)
    if (earlier == name)
      return error_at(line, column, cat(name, " is set twice"), cat("write one ", name, "=..."));
  std::vector<std::string> values;
  for (std::string_view value : split(word.substr(equals + 1), ',')) {
    if (value.empty())
      return error_at(line, column + static_cast<int>(equals) + 1,
                      cat("a value of ", name, " is empty"),
                      cat("write ", name, "=VALUE, without blanks around = and ,"));
    values.emplace_back(value);
  }
  spelling.values.emplace_back(name, std::move(values));
  return {};
}

}  // namespace

Result<Spelling> parse_spelling(std::string_view text) {
  const SourceLine line{"spelling", std::string(text), 1};
  Spelling spelling;
  bool targets = false;
  for (std::string_view word : words(text)) {
    const int column = static_cast<int>(word.data() - text.data()) + 1;
    if (word == "@") {
      if (targets || spelling.name.empty())
        return error_at(line, column, targets ? "a second @" : "no template stands before the @",
                        "write NAME PARAMETER=VALUE ... @ TARGET");
      targets = true;
    } else if (targets) {
      auto target = Target::parse(word);
      if (!target) return error_at(line, column, target.error().what, target.error().fix);
      spelling.targets.emplace_back(word);
    } else if (spelling.name.empty()) {
      if (!is_identifier(word))
        return error_at(
            line, column, cat(quote(word, 40), " is no template's name"),
            word.find('=') == word.npos
                ? "start with the template's name, as in quantize_nvfp4 COLS=4096 @ sm_90a"
                : "write the whole spelling in one pair of quotes, the template's name first");
      spelling.name = word;
    } else {
      DIECAST_CHECK(read_setting(line, column, word, spelling));
    }
  }
  if (spelling.name.empty())
    return error_at(line, 1, "an empty spelling", "start with the template's name");
  if (targets && spelling.targets.empty())
    return error_at(line, static_cast<int>(text.size()) + 1, "no target stands after the @",
                    "name one, such as sm_90a, or leave the @ out");
  return spelling;
}

Result<Bindings> bindings_of(const Spelling& spelling) {
  Bindings bindings;
  for (const auto& [name, values] : spelling.values) {
    if (values.size() != 1 || values[0] == "*") {
      return Error{ErrorCode::value_not_allowed,
                   cat(name, " has not exactly one value: ", join(values, ",")),
                   "lists and `*` belong in manifests; give one value"};
    }
    bindings.set(name, std::string_view(values[0]));
  }
  return bindings;
}

}  // namespace diecast
