// Rendering a source; see source.h. The order of its parts is fixed: device headers, constants,
// asserts, the kernel's head, the file's own code.
#include <diecast/base/text.h>
#include <diecast/template/parse/code_scan.h>
#include <diecast/template/parse/code_tokens.h>
#include <diecast/template/parse/header_parser.h>
#include <diecast/template/signature.h>
#include <diecast/template/source.h>

#include <algorithm>
#include <map>
#include <set>

namespace diecast {
namespace {

std::string line_directive(int line, std::string_view file) {
  return cat("#line ", line, " \"", file, "\"\n");
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c != '\r') out += c;
  }
  return out + "\"";
}

// Enumerators: unlike variables they leave nothing in the cubin, and compile sooner.
std::string enumerators(const Parameter& parameter) {
  std::vector<std::string> words;
  for (const Value& word : parameter.allowed)
    words.push_back(cat(parameter.name, "_", word.word, " = ", word.number));
  return cat("enum : int { ", join(words, ", "), " };");
}

// Device headers, each once, what a header includes before the header itself.
class Headers {
 public:
  explicit Headers(const TemplateFiles& files) : files_(files) {}

  Result<void> add(const Include& include, int depth = 0) {
    const std::string& name = include.header;
    if (!seen_.insert(name).second) return {};
    if (depth > kMostInside)
      return Error{ErrorCode::parse_error,
                   cat(include.where, ": headers include one another ", kMostInside, " deep"),
                   "include what is needed where it is needed"};
    const std::string* text = files_.header_text(name);
    if (text == nullptr) return unknown(include);
    DIECAST_TRY(Inlined inlined, take_includes(*text, name, 1));
    for (const Include& inner : inlined.includes) DIECAST_CHECK(add(inner, depth + 1));
    DIECAST_TRY(const std::vector<Parameter> enums, HeaderParser::enums_of(name, *text));
    if (!enums.empty()) {
      const std::size_t opening = find_opening(inlined.text, 0);
      std::string words = " namespace diecast {";
      for (const Parameter& each : enums) {
        sets_.emplace(each.name, Set{name, each.allowed});
        words += cat(" ", enumerators(each));
      }
      inlined.text.insert(inlined.text.find("*/", opening) + 2, words + " }");
    }
    const bool own = !name.starts_with("diecast/");
    if (own && !own_) text_ += "using namespace diecast;\n";  // as a template's code has it
    own_ = own_ || own;
    text_ += line_directive(1, name) + inlined.text;
    return {};
  }
  const std::string& text() const { return text_; }
  // The enums of the template whose words a header declares: all of them or the first.
  Result<std::set<std::string>> declared(const Template& tmpl) const {
    std::set<std::string> names;
    for (const Parameter& parameter : tmpl.parameters()) {
      const auto found = sets_.find(parameter.name);
      if (found == sets_.end() || parameter.type != ParameterType::enumeration) continue;
      const Set& set = found->second;
      const std::size_t count = parameter.allowed.size();
      if (count > set.words.size() ||
          !std::equal(parameter.allowed.begin(), parameter.allowed.end(), set.words.begin()))
        return Error{ErrorCode::parse_error,
                     cat(parameter.place.text(), ": <", set.header, ">, which is included, has ",
                         "other words of ", parameter.name, " or another order"),
                     cat("write use <", set.header, ">, its first words, or another name")};
      names.insert(parameter.name);
    }
    return names;
  }

 private:
  static constexpr int kMostInside = 64;

  Error unknown(const Include& include) const {
    const std::string meant = files_.meant(include.header);
    if (!include.header.starts_with("diecast/"))
      return {ErrorCode::unknown_template,
              cat(include.where, ": no header is called <", include.header, ">", meant),
              cat("add yours by runtime.add_header(\"", include.header, "\", FILE), --add-header ",
                  include.header, "=FILE, or name the folder that has it in DIECAST_INCLUDE")};
    return {ErrorCode::unknown_template,
            cat(include.where, include.where.empty() ? "" : ": ", "there is no device header <",
                include.header, ">", meant),
            meant.empty() ? cat("the device headers are ", join(files_.header_names(), ", "))
                          : "correct the name, or write what it has into this file"};
  }

  const TemplateFiles& files_;
  std::set<std::string> seen_;
  struct Set {
    std::string header;
    std::vector<Value> words;
  };
  std::map<std::string, Set> sets_;  // by the name of the enum
  bool own_ = false;                 // a caller's header was inlined
  std::string text_;
};

std::string literal(std::int64_t number) {
  if (number == INT64_MIN) return "-9223372036854775807LL - 1";
  // INT_MIN would overflow an int when it is negated.
  return number > INT32_MIN && number <= INT32_MAX ? cat(number) : cat(number, "LL");
}

std::string constant(std::string_view name, std::int64_t value) {
  const std::string number = literal(value);
  return cat("constexpr ", number.find('L') == std::string::npos ? "int " : "i64 ", name, " = ",
             number, ";\n");
}

std::string constant_line(const Parameter& parameter, const Value& value, bool declared) {
  const std::string& name = parameter.name;
  switch (parameter.type) {
    case ParameterType::boolean:
      return cat("constexpr bool ", name, " = ", value.number != 0, ";\n");
    case ParameterType::type:
      return cat("using ", name, " = ", value.word, ";\n");
    case ParameterType::integer:
      return constant(name, value.number);
    case ParameterType::real:
      return cat("constexpr f32 ", name, " = ", cpp_real(value.word), ";\n");
    case ParameterType::enumeration:
      break;
  }
  return cat(declared ? "" : enumerators(parameter) + " ", "constexpr int ", name, " = ", name, "_",
             value.word, ";\n");
}

// The value itself: what the header says of this point is what the code has.
std::string let_line(const Let& let, std::int64_t value) {
  if (let.type == ParameterType::boolean)
    return cat("constexpr bool ", let.name, " = ", value != 0, ";\n");
  return constant(let.name, value);
}

// What device headers may leave out: see templates/README.md.
std::string left_out(const Specialization& specialization) {
  std::string text;
  for (const Parameter& parameter : specialization.tmpl().parameters())
    if (parameter.compiled() && parameter.type != ParameterType::type &&
        specialization.bindings().find(parameter.name)->number == 0)
      text += cat("#define DIECAST_NO_", parameter.name, " 1\n");
  return text;
}

std::string constants(const Specialization& specialization, const std::set<std::string>& declared) {
  std::string text = "using namespace diecast;\n";
  for (const Parameter& parameter : specialization.tmpl().parameters())
    if (parameter.compiled())
      text += constant_line(parameter, *specialization.bindings().find(parameter.name),
                            declared.contains(parameter.name));
  for (const Let& let : specialization.tmpl().lets())
    text += let_line(let, *specialization.names()(let.name));
  for (const BoundArgument& argument : specialization.arguments())
    if (argument.kind == Argument::Kind::size && argument.fixed)
      text += cat("constexpr i64 ", argument.name, " = ", literal(argument.fixed_value), ";\n");
  return text;
}

std::string asserts(const Template& tmpl) {
  const auto spell = [&](std::string_view name) { return cpp_name(tmpl, name); };
  std::string text;
  for (const Requirement& requirement : tmpl.requirements()) {
    const std::string& reason =
        requirement.reason.empty() ? requirement.condition.text() : requirement.reason;
    text += line_directive(requirement.place.line, requirement.place.file);
    text +=
        cat("static_assert(", requirement.condition.cpp(spell), ", ", in_quotes(reason), ");\n");
  }
  // What the kernel's head says of structures is told where the head is defined: right behind.
  const auto structure =
      std::ranges::find(tmpl.arguments(), Argument::Kind::structure, &Argument::kind);
  if (structure != tmpl.arguments().end())
    text += line_directive(structure->place.line, structure->place.file);
  return text;
}

// `const auto* p` as `auto p`, which keeps a checked pointer as it is; columns stay. (A pointer to
// a const type stays one.) So do `, *q = ` and its kin in the same declaration.
std::string without_auto_pointers(std::string text) {
  const std::vector<CodeToken> tokens = code_tokens(text).tokens;
  const auto is = [&](std::size_t i, std::string_view what) {
    return i < tokens.size() && tokens[i].is(what);
  };
  const auto blank = [&](std::size_t i) {
    const std::string& word = tokens[i].spelling;
    if (text.compare(tokens[i].offset, word.size(), word) == 0)  // else it goes on in the next line
      text.replace(tokens[i].offset, word.size(), word.size(), ' ');
  };
  const auto blank_further = [&](std::size_t i) {
    for (int depth = 0; i < tokens.size() && depth >= 0 && (depth > 0 || !is(i, ";")); ++i) {
      depth += (is(i, "(") || is(i, "[") || is(i, "{")) - (is(i, ")") || is(i, "]") || is(i, "}"));
      if (depth != 0 || !is(i, ",") || !is(i + 1, "*")) continue;
      std::size_t name = i + 2;
      while (is(name, "const") || is(name, "__restrict__") || is(name, "__restrict")) ++name;
      if (!is(name + 1, "=") && !is(name + 1, "(") && !is(name + 1, "{")) continue;
      for (std::size_t before = i + 1; before < name; ++before) blank(before);
    }
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::size_t star = is(i + 1, "const") ? i + 2 : i + 1;
    if (!is(i, "auto") || !is(star, "*") || is(star + 1, "*")) continue;
    if (i > 0 && is(i - 1, "const")) blank(i - 1);
    for (std::size_t after = i + 1; after <= star; ++after) blank(after);
    if (is(star + 1, "__restrict__") || is(star + 1, "__restrict")) blank(star + 1);
    blank_further(star + 1);
  }
  return text;
}

}  // namespace

Result<SourceParts> source_parts(const Template& tmpl, const TemplateFiles& files,
                                 BuildKind build) {
  const std::string name = tmpl.name() + ".cu";
  DIECAST_TRY(Inlined code, take_includes(tmpl.code(), name, tmpl.code_line()));
  Headers headers(files);
  DIECAST_CHECK(headers.add({"diecast/device/base/types.h", ""}));
  DIECAST_CHECK(headers.add({"diecast/device/base/simt.h", ""}));
  if (build == BuildKind::debug) {
    DIECAST_CHECK(headers.add({"diecast/device/base/checked.h", ""}));
    code.text = without_auto_pointers(std::move(code.text));
  }
  for (const std::string& header : tmpl.used()) DIECAST_CHECK(headers.add({header, ""}));
  for (const Include& header : code.includes) DIECAST_CHECK(headers.add(header));
  DIECAST_TRY(std::set<std::string> declared, headers.declared(tmpl));
  return SourceParts{headers.text(), asserts(tmpl),
                     line_directive(tmpl.code_line(), name) + code.text, std::move(declared)};
}

Result<Source> render(const Specialization& specialization, const SourceParts& parts,
                      BuildKind build) {
  const Template& tmpl = specialization.tmpl();
  const Target& target = specialization.target();
  DIECAST_TRY(const std::string head, kernel_head(specialization, build));
  Source out{tmpl.name() + ".cu", tmpl.name(), "", build};
  out.text.reserve(parts.headers.size() + parts.asserts.size() + parts.code.size() + 8192);
  out.text += cat("#define DIECAST_CC ", target.cc, "\n#define DIECAST_HOST ",
                  target.is_host() ? 1 : 0, "\n", left_out(specialization), parts.headers);
  out.text +=
      cat(line_directive(1, "diecast/constants"), constants(specialization, parts.declared));
  out.text += parts.asserts;
  // The file's own code casts checked pointers as it does others.
  if (build == BuildKind::debug) out.text += "#define reinterpret_cast diecast::reinterpreted\n";
  out.text += cat("#define DIECAST_KERNEL ", head, "\n");
  out.text += parts.code;
  if (out.text.size() > kMostTextBytes)
    return Error{ErrorCode::not_supported,
                 cat("the text of ", out.name, ", its headers included, has ", out.text.size(),
                     " bytes; a cache entry has room for ", kMostTextBytes),
                 "give large tables as tensors, and leave out what the kernel does not use"};
  return out;
}

Result<Source> render(const Specialization& specialization, const TemplateFiles& files,
                      BuildKind build) {
  DIECAST_TRY(const SourceParts parts, source_parts(specialization.tmpl(), files, build));
  return render(specialization, parts, build);
}

}  // namespace diecast
