// From a line that names an op to its kernels; see expand_ops.h.
#include <diecast/ops/every_op.h>
#include <diecast/ops/expand_ops.h>
#include <diecast/ops/request_parameters.h>
#include <diecast/template/requirements.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace diecast {
namespace {

using Kernels = Result<std::vector<KernelWanted>>;

struct ExpandableOp {
  std::string_view name;
  std::vector<Parameter> fields;
  Kernels (*kernels)(Runtime& runtime, const Choices& choices, std::span<const std::size_t> index,
                     const Target& target);
};

template <class Request>
ExpandableOp expandable() {
  return {Request::kName, parameters_of<Request>(),
          [](Runtime& runtime, const Choices& choices, std::span<const std::size_t> index,
             const Target& target) -> Kernels {
            DIECAST_TRY(const auto request, request_of<Request>(choices, index));
            return kernels_for(runtime, request, target);
          }};
}

// The ops of the list whose names are single words: a line has no other names.
std::vector<ExpandableOp> expandable_ops() {
  std::vector<ExpandableOp> out;
  for_each_request([&]<class Request>(std::type_identity<Request>) {
    if (Request::kName.find(' ') == Request::kName.npos) out.push_back(expandable<Request>());
  });
  return out;
}

const std::vector<ExpandableOp>& every_op() {
  static const auto& all = *new std::vector<ExpandableOp>(expandable_ops());
  return all;
}

Error no_op(std::string what) {
  return {ErrorCode::not_supported, std::move(what),
          cat("name one of ", join(op_names(), ", "), ", or kernels by their spelling")};
}

Result<const ExpandableOp*> find_op(std::string_view name) {
  const auto& all = every_op();
  const auto found = std::ranges::find(all, name, &ExpandableOp::name);
  if (found != all.end()) return &*found;
  return no_op(cat("no op is named ", quote(name, 40), did_you_mean(name, op_names())));
}

FindParameter fields_by_name(const ExpandableOp& op) {
  return [&op](std::string_view name) -> Result<const Parameter*> {
    const auto found = std::ranges::find(op.fields, name, &Parameter::name);
    if (found != op.fields.end()) return &*found;
    std::vector<std::string> names;
    for (const Parameter& field : op.fields) names.push_back(field.name);
    return Error{ErrorCode::unknown_parameter,
                 cat("op ", op.name, " has no field ", quote(name, 40), did_you_mean(name, names)),
                 cat("its fields are ", join(names, ", "))};
  };
}

// The kernels of a line, each once. Most of a wide line may break a requirement, or be what the
// line has already: both are found before anything costly is made.
class KernelsOfLine {
 public:
  KernelsOfLine(Runtime& runtime, const ExpandableOp& op) : runtime_(runtime), op_(op) {}

  // Those of one combination for one target; none where one of them breaks a requirement.
  Result<void> add(const Choices& choices, std::span<const std::size_t> index,
                   const Target& target);
  // All of them; where there are none, why the last combination was left out.
  Result<std::vector<Specialization>> take() &&;

 private:
  struct OfTemplate {
    std::shared_ptr<const Template> tmpl;
    Requirements requirements;
  };
  Result<OfTemplate*> of_template(std::string_view name, const Target& target);
  Result<bool> keeps(const KernelWanted& wanted, const Target& target);
  Result<void> add(const KernelWanted& wanted, const Target& target);

  Runtime& runtime_;
  const ExpandableOp& op_;
  std::map<std::string, OfTemplate> templates_;  // by name and target
  std::set<std::string> seen_;
  std::vector<Specialization> all_;
  std::optional<std::pair<KernelWanted, Target>> left_out_;
};

Result<KernelsOfLine::OfTemplate*> KernelsOfLine::of_template(std::string_view name,
                                                              const Target& target) {
  const std::string key = cat(name, " @ ", target.name());
  const auto known = templates_.find(key);
  if (known != templates_.end()) return &known->second;
  DIECAST_TRY(auto tmpl, runtime_.find_template(name));
  DIECAST_TRY(Requirements requirements, Requirements::compile(*tmpl, target));
  OfTemplate made{std::move(tmpl), std::move(requirements)};
  return &templates_.emplace(key, std::move(made)).first->second;
}

Result<bool> KernelsOfLine::keeps(const KernelWanted& wanted, const Target& target) {
  DIECAST_TRY(OfTemplate* const of, of_template(wanted.name, target));
  return Specialization::keeps(*of->tmpl, bindings_for(*of->tmpl, wanted), of->requirements);
}

Result<void> KernelsOfLine::add(const KernelWanted& wanted, const Target& target) {
  DIECAST_TRY(OfTemplate* const of, of_template(wanted.name, target));
  const Bindings bindings = bindings_for(*of->tmpl, wanted);
  std::string key = cat(wanted.name, " @ ", target.name());
  for (const auto& [name, value] : bindings.entries()) key += cat(" ", name, "=", value.spelling());
  if (!seen_.insert(std::move(key)).second) return {};
  DIECAST_TRY(Specialization made,
              Specialization::make(of->tmpl, bindings, target, of->requirements));
  const auto tuned = runtime_.tuned_variants(made, bindings);
  all_.push_back(std::move(made));
  all_.insert(all_.end(), tuned.begin(), tuned.end());
  return check_kernels(all_.size());
}

Result<void> KernelsOfLine::add(const Choices& choices, std::span<const std::size_t> index,
                                const Target& target) {
  DIECAST_TRY(const auto wanted, op_.kernels(runtime_, choices, index, target));
  for (const KernelWanted& one : wanted) {
    const auto kept = keeps(one, target);
    if (!kept && kept.error().code != ErrorCode::value_not_allowed) return kept.error();
    if (kept && *kept) continue;
    left_out_ = {one, target};
    return {};
  }
  for (const KernelWanted& one : wanted) DIECAST_CHECK(add(one, target));
  return {};
}

Result<std::vector<Specialization>> KernelsOfLine::take() && {
  if (!all_.empty() || !left_out_) return std::move(all_);
  const auto& [wanted, target] = *left_out_;
  DIECAST_TRY(const auto tmpl, runtime_.find_template(wanted.name));
  return Specialization::make(tmpl, bindings_for(*tmpl, wanted), target).error();
}

Result<std::vector<Specialization>> expand(Runtime& runtime, std::string_view line,
                                           std::span<const Target> targets) {
  std::string rest(line);
  rest.replace(rest.find("op"), 2, "  ");  // columns stay
  if (trim(rest).empty()) return no_op("the line names no op");
  DIECAST_TRY(const Spelling spelling, parse_spelling(rest));
  DIECAST_TRY(const ExpandableOp* const op, find_op(spelling.name));
  DIECAST_TRY(const Choices choices, read_choices(spelling, fields_by_name(*op)));
  DIECAST_TRY(const std::vector<Target> wanted, targets_of(spelling, targets));
  DIECAST_CHECK(check_count(choices, wanted.size()));
  KernelsOfLine kernels(runtime, *op);
  for (const Target& target : wanted) {
    std::vector<std::size_t> index(choices.size(), 0);
    do {
      DIECAST_CHECK(kernels.add(choices, index, target));
    } while (next_combination(choices, index));
  }
  return std::move(kernels).take();
}

}  // namespace

Result<std::vector<Specialization>> expand_op(Runtime& runtime, std::string_view line,
                                              std::string_view where,
                                              std::span<const Target> targets) {
  auto expanded = expand(runtime, line, targets);
  if (!expanded) return error_on_line(where, expanded.error());
  return expanded;
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const ExpandableOp& op : every_op()) names.emplace_back(op.name);
  return names;
}

}  // namespace diecast
