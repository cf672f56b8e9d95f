// What can be checked only when the whole header is read: every name in every expression is known
// where it stands, every size has its argument, the launch is complete.
#include <diecast/base/text.h>
#include <diecast/template/parse/header_parser.h>

#include <algorithm>

namespace diecast {

Result<void> HeaderParser::check() {
  if (clauses_.find("target") == clauses_.end()) {
    template_->host_ = true;
    template_->minimum_cc_ = 80;
  }
  DIECAST_CHECK(bind_words());
  DIECAST_CHECK(check_lets());
  DIECAST_CHECK(check_sizes());
  DIECAST_CHECK(check_arguments());
  for (const Requirement& requirement : template_->requirements_)
    DIECAST_CHECK(check_expression(requirement.condition, requirement.place, Use::fact));
  DIECAST_CHECK(check_samples());
  return check_launch();
}

Result<void> HeaderParser::check_sizes() const {
  for (const Size& size : template_->sizes_) {
    const Argument* argument = template_->argument(size.name);
    if (argument == nullptr)
      return error_on(size.place, size.name,
                      cat("the size `", size.name, "` is no argument, so no launch could know it"),
                      cat("add a line `arg ", size.name, "`"));
    if (size.divisible) DIECAST_CHECK(check_expression(*size.divisible, size.place, Use::fact));
    if (size.fixed_by.empty()) continue;
    const Parameter* by = template_->parameter(size.fixed_by);
    if (by != nullptr && by->compiled() && by->type == ParameterType::integer) continue;
    std::vector<std::string> integers;
    for (const Parameter& each : template_->parameters_)
      if (each.compiled() && each.type == ParameterType::integer) integers.push_back(each.name);
    return error_on(size.place, size.fixed_by,
                    cat("no compiled int parameter is called `", size.fixed_by, "`",
                        did_you_mean(size.fixed_by, integers)),
                    "a size is fixed by a `shape int` or another int in UPPER CASE");
  }
  return {};
}

Result<void> HeaderParser::check_arguments() const {
  for (const Argument& argument : template_->arguments_) {
    const bool is_size = template_->size(argument.name) != nullptr;
    if (argument.kind == Argument::Kind::size && !is_size) {
      std::vector<std::string> sizes;
      for (const Size& size : template_->sizes_) sizes.push_back(size.name);
      return error_on(
          argument.place, argument.name,
          cat("no size is called `", argument.name, "`", did_you_mean(argument.name, sizes)),
          cat("declare it (`size ", argument.name,
              "`), or say what it is: `arg NAME in TYPE [shape]`, `arg NAME TYPE`, ..."));
    }
    if (const auto found = declared_.find(argument.name);
        found != declared_.end() && argument.kind != Argument::Kind::size)
      return error_on(argument.place, argument.name,
                      cat("`", argument.name, "` is declared on ", seen(found->second), " already"),
                      "choose another name");
    if (argument.stride && template_->argument(argument.name + "_stride") != nullptr)
      return error_on(template_->argument(argument.name + "_stride")->place,
                      argument.name + "_stride",
                      cat("`", argument.name, "_stride` is the row stride of ", argument.name),
                      "choose another name");
    for (const Expression& extent : argument.shape)
      DIECAST_CHECK(check_expression(extent, argument.place, Use::shape));
    if (argument.align) DIECAST_CHECK(check_expression(*argument.align, argument.place, Use::fact));
    if (argument.stride)
      DIECAST_CHECK(check_expression(*argument.stride, argument.place, Use::fact));
  }
  return {};
}

Result<void> HeaderParser::check_samples() const {
  for (const Samples& samples : template_->samples_) {
    const Place& place = sampled_.find(samples.name)->second;
    const bool size = template_->size(samples.name) != nullptr;
    const Parameter* parameter = template_->parameter(samples.name);
    if (size || (parameter != nullptr && parameter->kind == Parameter::Kind::shape)) {
      for (std::int64_t value : samples.values)
        if (value < 0)
          return error_on(place, cat(value).substr(1), cat(samples.name, " is not negative"),
                          "write a number of 0 or more");
    }
    if (size) continue;
    const bool integer = parameter != nullptr && parameter->type == ParameterType::integer;
    if (!integer || !parameter->compiled()) {
      std::vector<std::string> names;
      for (const Size& size : template_->sizes_) names.push_back(size.name);
      for (const Parameter& each : template_->parameters_)
        if (each.compiled() && each.type == ParameterType::integer) names.push_back(each.name);
      return error_on(place, samples.name,
                      cat("`", samples.name, "` is no size and no compiled int",
                          did_you_mean(samples.name, names)),
                      "samples are given to sizes and to int parameters in UPPER CASE");
    }
    for (std::int64_t value : samples.values)
      if (!parameter->check(Value::integer(value)))
        return error_on(place, cat(value), cat(value, " is not a value of ", samples.name),
                        cat("sample ", parameter->allowed_text()));
  }
  return {};
}

Result<void> HeaderParser::check_launch() const {
  const LaunchRule& launch = template_->launch_;
  for (const char* clause : {"grid", "block"})
    if (clauses_.find(clause) == clauses_.end())
      return launch.place.line == 0
                 ? Error{ErrorCode::parse_error, cat(template_->name_, ".cu has no launch line"),
                         "add one: launch grid(...) block(...)"}
                 : error_on(launch.place, "launch", cat("the launch has no ", clause, "(...)"),
                            cat("add ", clause, "(...)"));
  const bool on_host =
      template_->host_ || std::ranges::any_of(template_->listed_targets_, &Target::is_host);
  if (launch.cooperative && on_host)
    return error_on(clauses_.find("cooperative")->second, "cooperative",
                    "blocks of a cooperative launch wait for one another, which the host cannot do",
                    "add a target line without host, such as `target sm_80+`");
  DIECAST_CHECK(check_waits());
  const auto check_clause = [&](const char* clause, const Expression& value) {
    return check_expression(value, clauses_.find(clause)->second, Use::launch);
  };
  for (const Expression& value : launch.grid) DIECAST_CHECK(check_clause("grid", value));
  for (const Expression& value : launch.block) DIECAST_CHECK(check_clause("block", value));
  if (launch.resident)
    DIECAST_CHECK(check_expression(*launch.resident, clauses_.find("resident")->second, Use::fact));
  if (launch.shared) DIECAST_CHECK(check_clause("shared", *launch.shared));
  if (launch.cluster) DIECAST_CHECK(check_clause("cluster", *launch.cluster));
  return {};
}

// What the launch and the code say of who waits for whom.
Result<void> HeaderParser::check_waits() const {
  const LaunchRule& launch = template_->launch_;
  const std::string bare = bare_code(template_->code());
  if (!launch.cooperative && find_word(bare, "grid_barrier") != std::string_view::npos)
    return error_on(launch.place, "launch",
                    "the code calls grid_barrier(), and its blocks need not be on the GPU together",
                    "add `cooperative` to the launch line, and a target line without host");
  for (const Argument& argument : template_->arguments_)
    if (argument.settled && !launch.dependent)
      return error_on(argument.place, "settled",
                      "the launch does not begin before the one before has ended",
                      "remove it, or add `dependent` to the launch line");
  if (launch.late && find_word(bare, "launch_before_ended") == std::string_view::npos)
    return error_on(clauses_.find("dependent")->second, "late",
                    "the body never waits for the launch before, whose results it may need",
                    "call launch_before_ended() of <diecast/device/threads/dependent.h>, or write "
                    "`dependent` alone");
  return {};
}

HeaderParser::Use HeaderParser::needed_use(std::string_view name) const {
  if (words_.find(name) != words_.end()) return Use::fact;
  if (const Parameter* parameter = template_->parameter(name))
    return parameter->compiled() ? Use::fact : Use::launch;
  if (template_->let(name) != nullptr) return Use::fact;
  if (template_->size(name) != nullptr) return Use::shape;
  return name == "sm_count" || name == "shared_optin" ? Use::launch : Use::never;
}

std::vector<std::string> HeaderParser::usable_names(Use use) const {
  std::vector<std::string> names;
  for (const Parameter& parameter : template_->parameters_)
    if (parameter.compiled() || use == Use::launch) names.push_back(parameter.name);
  for (const Let& let : template_->lets_) names.push_back(let.name);
  for (const auto& [name, value] : words_)
    if (name.find(':') == std::string::npos) names.push_back(name);
  if (use != Use::fact)
    for (const Size& size : template_->sizes_) names.push_back(size.name);
  if (use == Use::launch) names.insert(names.end(), {"sm_count", "shared_optin"});
  return names;
}

Result<void> HeaderParser::check_expression(const Expression& expression, const Place& place,
                                            Use use) const {
  for (const Expression::Name& name : expression.names())
    DIECAST_CHECK(check_expression_name(name, place, use));
  for (const Expression::Name& name : expression.types()) DIECAST_CHECK(check_bits(name, place));
  return {};
}

Result<void> HeaderParser::check_expression_name(const Expression::Name& name, const Place& place,
                                                 Use use) const {
  const Use needs = needed_use(name.name);
  if (needs <= use) return {};
  if (needs != Use::never) {
    std::string fix = "use sizes and names in UPPER CASE";
    if (use == Use::fact) fix = "this must be known before compiling: use names in UPPER CASE";
    if (use == Use::fact && needs == Use::shape)
      fix += cat("; `size ", name.name,
                 " divisible 16` promises a multiple, and an assert in the code checks the rest");
    return error_at(line_at(place), name.column, cat("`", name.name, "` is known only at launch"),
                    std::move(fix));
  }
  for (const Parameter& parameter : template_->parameters_)
    for (const Value& value : parameter.allowed)
      if (parameter.type == ParameterType::enumeration && value.word == name.name)
        return error_at(
            line_at(place), name.column,
            cat("`", name.name, "` is a word of ", parameter.name, ", but is not compared with it"),
            cat("write ", parameter.name, " == ", name.name, ", or ", parameter.name, "_",
                name.name, " for its number"));
  const std::string meant = did_you_mean(name.name, usable_names(use));
  return error_at(line_at(place), name.column, cat("nothing is called `", name.name, "`", meant),
                  "declare it with a line of its own, or correct the name");
}

Result<void> HeaderParser::check_bits(const Expression::Name& name, const Place& place) const {
  if (parse_dtype(name.name)) return {};
  std::vector<std::string> types = dtype_names();
  for (const Parameter& parameter : template_->parameters_) {
    if (parameter.type != ParameterType::type) continue;
    if (parameter.name == name.name) return {};
    types.push_back(parameter.name);
  }
  return error_at(line_at(place), name.column,
                  cat("`", name.name, "` is no element type", did_you_mean(name.name, types)),
                  cat("bits takes one of ", join(types, ", ")));
}

}  // namespace diecast
