// The kernel's entry and the head of its body, from the arg lines; see signature.h.
#include <diecast/base/text.h>
#include <diecast/template/argument_forms.h>
#include <diecast/template/signature.h>

#include <algorithm>
#include <cstdint>

namespace diecast {
namespace {

std::string listed(const std::vector<ArgumentForm>& forms, std::string ArgumentForm::*part) {
  std::vector<std::string> parts;
  for (const ArgumentForm& form : forms)
    if (part != &ArgumentForm::raw || !form.derived) parts.push_back(form.*part);
  return join(parts, ", ");
}

Result<std::optional<std::int64_t>> constant_of(const Specialization& specialization,
                                                const Expression& expression) {
  DIECAST_TRY(const Program program, Program::compile(expression, specialization.names(),
                                                      [](std::string_view) { return 0; }));
  return program.constant();
}

// "my_kernel.cu:12", where that clause of the launch stands.
std::string line_of(const Template& tmpl, std::string_view clause) {
  return tmpl.launch().places.find(clause)->second.text();
}

// What no device launches.
Error out_of_range(const Specialization& specialization, std::string_view clause,
                   std::int64_t value, std::string_view unit, std::int64_t most) {
  return {ErrorCode::constraint_violated,
          cat(line_of(specialization.tmpl(), clause), ": ", clause, "(...) is ", value, " ", unit,
              ": devices take ", clause == "shared" ? 0 : 1, " to ", most),
          "correct the launch line, or require what keeps it in range"};
}

// Threads of a block when they are known now, else 0: then nothing bounds the kernel's registers.
Result<std::int64_t> block_threads(const Specialization& specialization) {
  constexpr std::int64_t kMost = 1024;
  std::int64_t threads = 1;
  for (const Expression& extent : specialization.tmpl().launch().block) {
    DIECAST_TRY(const auto value, constant_of(specialization, extent));
    if (!value) return std::int64_t{0};
    if (*value < 1 || *value > kMost)
      return out_of_range(specialization, "block", *value, "threads", kMost);
    threads *= *value;
  }
  if (threads > kMost) return out_of_range(specialization, "block", threads, "threads", kMost);
  return threads;
}

// Dynamic shared memory of a block, when it is known now.
Result<void> check_shared(const Specialization& specialization) {
  constexpr std::int64_t kMost = 227 << 10;  // of compute capabilities 9.0 and 10.0, the most
  const auto& shared = specialization.tmpl().launch().shared;
  if (!shared) return {};
  DIECAST_TRY(const auto bytes, constant_of(specialization, *shared));
  if (!bytes || (*bytes >= 0 && *bytes <= kMost)) return {};
  return out_of_range(specialization, "shared", *bytes, "bytes", kMost);
}

// Of the largest multiprocessors there are.
constexpr std::int64_t kMostBlocks = 32, kMostThreads = 2048;

Result<std::string> launch_bounds(const Specialization& specialization, std::int64_t threads) {
  if (threads == 0) return std::string();
  const auto& resident = specialization.tmpl().launch().resident;
  const std::string unbounded = cat("__launch_bounds__(", threads, ") ");
  if (!resident) return unbounded;
  DIECAST_TRY(const auto blocks, constant_of(specialization, *resident));
  if (!blocks)
    return Error{
        ErrorCode::constraint_violated,
        cat(line_of(specialization.tmpl(), "resident"), ": resident(...) has no value here"),
        "write an expression that is defined for all parameters"};
  if (*blocks < 1) return unbounded;
  const std::int64_t most = std::min(kMostBlocks, kMostThreads / threads);
  if (*blocks > most) {
    return Error{ErrorCode::constraint_violated,
                 cat(line_of(specialization.tmpl(), "resident"), ": resident(", *blocks,
                     ") of blocks of ", threads, " threads: no multiprocessor holds more than ",
                     kMostBlocks, " blocks or ", kMostThreads, " threads"),
                 cat("write resident(", most, ") or less, min(", most, ", ...) of an expression")};
  }
  return cat("__launch_bounds__(", threads, ", ", *blocks, ") ");
}

// A cluster whose size is known now is part of the code: no branch asks whether there is one.
Result<std::string> cluster_dims(const Specialization& specialization) {
  const auto& cluster = specialization.tmpl().launch().cluster;
  if (!cluster) return std::string();
  DIECAST_TRY(const auto blocks, constant_of(specialization, *cluster));
  constexpr std::int64_t kMost = 16;  // beyond 8 where a GPU allows it
  if (blocks && (*blocks < 1 || *blocks > kMost))
    return out_of_range(specialization, "cluster", *blocks, "blocks", kMost);
  if (!blocks || *blocks < 2) return std::string();
  if (specialization.target().cc < 90)
    return Error{ErrorCode::constraint_violated,
                 cat(line_of(specialization.tmpl(), "cluster"), ": cluster(...) is ", *blocks,
                     " blocks: ", specialization.target().name(), " has no clusters"),
                 "write `target sm_90+`, or a cluster of 1 elsewhere: cc >= 90 ? 2 : 1"};
  return cat("__cluster_dims__(", *blocks, ", 1, 1) ");
}

// A dependent launch begins while what was launched before it ends: what that writes is there, and
// what it reads may be written, once this has waited. What is read lies 0 elements on, a number
// that the wait brings: no load is moved before it.
constexpr std::string_view kBegun =
    "long long diecast_begun; "
    "asm volatile(\"griddepcontrol.wait; mov.b64 %0, 0;\" : \"=l\"(diecast_begun) :: \"memory\"); ";
constexpr std::string_view kBegunReadingNothing =
    "asm volatile(\"griddepcontrol.wait;\" ::: \"memory\"); ";

std::string cuda_entry(const Specialization& specialization, const std::vector<ArgumentForm>& forms,
                       const std::string& bounds) {
  const std::string& name = specialization.tmpl().name();
  const LaunchRule& launch = specialization.tmpl().launch();
  const bool waits = launch.dependent && !launch.late && specialization.target().cc >= 90;
  bool reads = false;
  std::vector<ArgumentForm> given = forms;
  for (ArgumentForm& form : given) {
    if (!waits || !form.read) continue;
    form.pass += " + diecast_begun";
    reads = true;
  }
  return cat("extern \"C\" __global__ void ", bounds, name, "(", listed(forms, &ArgumentForm::raw),
             ") { ",
             !waits  ? ""
             : reads ? kBegun
                     : kBegunReadingNothing,
             name, "_body(", listed(given, &ArgumentForm::pass), "); } ");
}

// `parameters` has a pointer to each value, as cuLaunchKernel takes them.
std::string host_entry(const Specialization& specialization,
                       const std::vector<ArgumentForm>& forms) {
  static constexpr const char* kRun[] = {"none", "warp", "block"};
  const std::string& name = specialization.tmpl().name();
  std::string text = cat("extern \"C\" void ", name, "(diecast::HostBlock* diecast_block, void**",
                         forms.empty() ? "" : " diecast_parameters", ") { ");
  int index = 0;
  for (const ArgumentForm& form : forms) {
    if (form.derived) continue;
    text += cat(form.value, form.large ? " const& " : " const ", form.name, " = *static_cast<",
                form.value, " const*>(diecast_parameters[", index++, "]); ");
  }
  return cat(text, "diecast::host_run_", kRun[static_cast<int>(specialization.tmpl().exchange())],
             "(diecast_block, [&] { ", name, "_body(", listed(forms, &ArgumentForm::pass),
             "); }); } ");
}

}  // namespace

std::string cpp_name(const Template& tmpl, std::string_view name) {
  if (name == "host") return "DIECAST_HOST";
  if (name == "cc") return "DIECAST_CC";
  const Parameter* const parameter = tmpl.parameter(name);
  const bool type =
      parameter != nullptr ? parameter->type == ParameterType::type : parse_dtype(name).has_value();
  return type ? cat("diecast::dtype_id<", name, ">") : std::string(name);
}

Result<std::string> kernel_head(const Specialization& specialization, BuildKind build) {
  const std::vector<ArgumentForm> forms = forms_of(specialization, build);
  const std::string body = cat("DIECAST_DEVICE void ", specialization.tmpl().name(), "_body(",
                               listed(forms, &ArgumentForm::body), ")");
  std::string text;
  for (const Argument& argument : specialization.tmpl().arguments())
    if (argument.kind == Argument::Kind::structure)
      text += cat("static_assert(sizeof(", argument.type, ") == ", argument.bytes, ", \"arg ",
                  argument.name, " struct ", argument.type, " ", argument.bytes, "\"); ");
  text += body + "; ";
  DIECAST_TRY(const std::int64_t threads, block_threads(specialization));
  DIECAST_CHECK(check_shared(specialization));
  DIECAST_TRY(const std::string cluster, cluster_dims(specialization));
  if (specialization.target().is_host()) return text + host_entry(specialization, forms) + body;
  DIECAST_TRY(const std::string bounds, launch_bounds(specialization, threads));
  return text + cuda_entry(specialization, forms, bounds + cluster) + body;
}

}  // namespace diecast
