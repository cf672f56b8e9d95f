// Binding a template: defaults, requirements and their errors, arguments, spelling.
#include <diecast/template/specialization.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

namespace diecast {
namespace {

Result<Specialization> make(const Bindings& bindings, std::string_view on = "sm_90a") {
  return Specialization::make(scale_rows(), bindings, target(on));
}

Bindings base() { return Bindings().set("COLS", 4096).set("IN", DType::bf16); }

std::string error(const Bindings& bindings, std::string_view on = "sm_90a") {
  const auto made = make(bindings, on);
  return made ? "made: " + made->spelling() : made.error().message();
}

// A template with these header lines before its launch.
std::string specialization_error(const std::string& lines, const Bindings& bindings) {
  const auto tmpl = Template::parse(
      "k", "/* diecast\n" + lines + "launch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n");
  if (!tmpl) return tmpl.error().message();
  const auto made = Specialization::make(*tmpl, bindings, target("sm_90a"));
  return made ? "made: " + made->spelling() : made.error().message();
}

TEST(Specialization, FillsInDefaultsInDeclarationOrder) {
  const auto made = make(Bindings().set("THREADS", 64).set("IN", "bf16").set("COLS", 4096)).value();
  EXPECT_EQ(made.spelling(),
            "scale_rows COLS=4096 ALIGNED=1 IN=bf16 BLOCK=16 LAYOUT=linear THREADS=64 @ sm_90a");
  EXPECT_EQ(made.number("waves"), 64);
  EXPECT_EQ(made.number("IN"), static_cast<std::int64_t>(DType::bf16));
  EXPECT_EQ(made.bindings().entries().size(), 7u);
}

TEST(Specialization, ItsSpellingReadsBackToIt) {
  for (const char* on : {"host", "sm_90a", "sm_120f"}) {
    const auto tmpl = scale_rows();
    const auto points = tmpl->space(target(on)).value();
    for (const Bindings& point : points) {
      const auto made = Specialization::make(tmpl, point, target(on)).value();
      const Spelling spelling = parse_spelling(made.spelling()).value();
      EXPECT_EQ(spelling.name, "scale_rows");
      EXPECT_EQ(spelling.targets, std::vector<std::string>{on});
      Bindings read;
      for (const auto& [name, values] : spelling.values) {
        ASSERT_EQ(values.size(), 1u);
        read.set(name, std::string_view(values[0]));
      }
      const auto again = Specialization::make(tmpl, read, target(spelling.targets[0])).value();
      EXPECT_EQ(again.bindings(), made.bindings());
      EXPECT_EQ(again.spelling(), made.spelling());
    }
  }
}

TEST(Specialization, BindsEveryArgument) {
  const auto made = make(base().set("ALIGNED", false)).value();
  EXPECT_EQ(made.argument_schema(),
            "tensor x in bf16 stride align 2\n"
            "tensor factor in f32 align 4\n"
            "tensor y out bf16 align 16\n"
            "tensor total inout u32 align 4\n"
            "size rows device\n"
            "size cols = 4096\n"
            "scalar bias f32\n"
            "struct group Group 16\n"
            "tensor_map map");
  ASSERT_EQ(made.arguments().size(), 9u);
  EXPECT_TRUE(made.arguments()[5].fixed);
  EXPECT_EQ(made.arguments()[5].fixed_value, 4096);
  EXPECT_EQ(made.arguments()[0].shape[1].evaluate(made.names()).value(), 4096);
  const auto open = make(base().set("COLS", 0)).value();
  EXPECT_FALSE(open.arguments()[5].fixed);
  EXPECT_EQ(open.arguments()[0].align, 16);
  EXPECT_NE(open.argument_schema().find("size cols\n"), std::string::npos);
}

TEST(Specialization, KnowsTheNamesOfItsExpressions) {
  const Names names = make(base().set("LAYOUT", "s128x4"), "sm_100a").value().names();
  EXPECT_EQ(names("COLS"), 4096);
  EXPECT_EQ(names("cols"), 4096);
  EXPECT_EQ(names("LAYOUT"), names("LAYOUT_s128x4"));
  EXPECT_EQ(names("LAYOUT_linear"), 0);
  EXPECT_EQ(names("IN"), names("bf16"));
  EXPECT_EQ(names("bits:IN"), 16);
  EXPECT_EQ(names("bits:f32"), 32);
  EXPECT_EQ(names("cc"), 100);
  EXPECT_EQ(names("host"), 0);
  EXPECT_EQ(names("waves"), std::nullopt) << "a lower-case tune is read at launch";
  EXPECT_EQ(names("rows"), std::nullopt);
  const Names on_host = make(base().set("COLS", 0), "host_v3").value().names();
  EXPECT_EQ(on_host("host"), 1);
  EXPECT_EQ(on_host("cc"), 0);
  EXPECT_EQ(on_host("cols"), std::nullopt);
}

TEST(Specialization, ABrokenRequirementNamesTheNearestValuesThatFit) {
  EXPECT_EQ(error(base().set("COLS", 4100)),
            "diecast: constraint_violated: scale_rows.cu:23: require COLS % BLOCK == 0 (whole "
            "\"blocks\")\n"
            "  COLS = 4100\n"
            "  BLOCK = 16\n"
            "  fix: the nearest COLS that fit are 4096 and 4112");
}

TEST(Specialization, TheNearestValuesHoldEveryRequirement) {
  const std::string lines =
      "shape int COLS\n"
      "require COLS % 16 == 0 // whole scale blocks\n"
      "require COLS != 4096   // not this one\n";
  EXPECT_EQ(specialization_error(lines, Bindings().set("COLS", 4100)),
            "diecast: constraint_violated: k.cu:3: require COLS % 16 == 0 (whole scale blocks)\n"
            "  COLS = 4100\n"
            "  fix: the nearest COLS that fit are 4080 and 4112");
}

TEST(Specialization, ASetOffersItsOwnNearestValues) {
  const std::string lines =
      "option int A {8, 40, 64} = 8\noption int B {1, 2} = 1\nrequire A % 16 == 0 || B == 3\n";
  EXPECT_EQ(specialization_error(lines, Bindings().set("A", 40)),
            "diecast: constraint_violated: k.cu:4: require A % 16 == 0 || B == 3\n"
            "  A = 40\n"
            "  B = 1\n"
            "  fix: the nearest A that fits is 64");
}

TEST(Specialization, WordsAreOfferedWhereNoNumberFits) {
  const std::string lines =
      "option type IN {bf16, f16, f32} = f32\noption enum L {a, b} = a\n"
      "require bits(IN) == 16 && L == L_a // two bytes\n";
  EXPECT_EQ(specialization_error(lines, Bindings()),
            "diecast: constraint_violated: k.cu:4: require bits(IN) == 16 && L == L_a (two bytes)\n"
            "  L = a\n"
            "  IN = f32\n"
            "  fix: IN = bf16 or f16");
  EXPECT_EQ(
      specialization_error(lines, Bindings().set("L", "b")),
      "diecast: constraint_violated: k.cu:4: require bits(IN) == 16 && L == L_a (two bytes)\n"
      "  L = b\n"
      "  IN = f32\n"
      "  fix: no single change fits: choose L and IN together so that bits(IN) == 16 && L == L_a");
}

TEST(Specialization, ARequirementThatNothingKeepsSaysSo) {
  EXPECT_EQ(specialization_error("shape int COLS = 0\nrequire COLS % 8 == 1 && COLS % 2 == 0\n",
                                 Bindings()),
            "diecast: constraint_violated: k.cu:3: require COLS % 8 == 1 && COLS % 2 == 0\n"
            "  COLS = 0\n"
            "  fix: no COLS near it fits: choose one so that COLS % 8 == 1 && COLS % 2 == 0, or "
            "correct that line");
}

TEST(Specialization, ARequirementOfTheTargetSaysSo) {
  EXPECT_EQ(specialization_error("require cc >= 100 || host // FP4 instructions\n", Bindings()),
            "diecast: constraint_violated: k.cu:2: require cc >= 100 || host (FP4 instructions)\n"
            "  host = 0\n"
            "  cc = 90\n"
            "  fix: choose another target");
}

TEST(Specialization, ARequirementWithoutAValueIsBroken) {
  EXPECT_EQ(
      specialization_error("shape int COLS\nrequire 64 % COLS == 0\n", Bindings().set("COLS", 0)),
      "diecast: constraint_violated: k.cu:3: `64 % COLS == 0` has no value: a part of it "
      "divides by zero\n"
      "  COLS = 0\n"
      "  fix: the nearest COLS that fits is 1");
  EXPECT_EQ(
      specialization_error("shape int COLS\nrequire COLS * 4611686018427387904 > 0\n",
                           Bindings().set("COLS", 9000000)),
      "diecast: constraint_violated: k.cu:3: `COLS * 4611686018427387904 > 0` has no value: a "
      "part of it does not fit in 64 bits\n"
      "  COLS = 9000000\n"
      "  fix: no COLS near it fits: choose one so that COLS * 4611686018427387904 > 0, or "
      "correct that line");
}

TEST(Specialization, RefusesWhatTheTemplateDoesNotAllow) {
  EXPECT_EQ(
      error(base().set("BLOK", 16)),
      "diecast: unknown_parameter: scale_rows has no parameter \"BLOK\"; did you mean `BLOCK`?\n"
      "  fix: its parameters are COLS, ALIGNED, IN, BLOCK, LAYOUT, THREADS, waves");
  EXPECT_EQ(error(base().set("BLOCK", 64)),
            "diecast: value_not_allowed: scale_rows: BLOCK cannot be \"64\"\n"
            "  fix: give BLOCK one of 16, 32");
  EXPECT_EQ(
      error(Bindings().set("IN", "bf16")),
      "diecast: value_missing: scale_rows needs a value for COLS (row length; 0 = not fixed at "
      "compile time)\n"
      "  fix: give COLS an integer of 0 or more");
  const auto tmpl = Template::parse(
      "k", "/* diecast\nlaunch grid(1) block(1)\ntarget sm_90a\n*/\nDIECAST_KERNEL {}\n");
  EXPECT_EQ(Specialization::make(*tmpl, {}, target("host")).error().message(),
            "diecast: target_not_supported: k does not support host\n"
            "  fix: its targets are sm_90a");
}

TEST(Specialization, AnAlignmentIsAPowerOfTwo) {
  const std::string lines = "option int A = 16\nsize n\narg x in f32 [n] align A\narg n\n";
  EXPECT_EQ(specialization_error(lines, Bindings().set("A", 12)),
            "diecast: value_not_allowed: k.cu:4: align of x is 12\n"
            "  fix: an alignment is a power of two from 1 to 4096 bytes");
  EXPECT_EQ(specialization_error(lines, Bindings().set("A", 32)), "made: k A=32 @ sm_90a");
}

TEST(Spelling, ReadsListsStarsAndTargets) {
  const Spelling spelling =
      parse_spelling("  quantize_nvfp4 IN=bf16 COLS=4096,5120 ROW_SCALE=* @ sm_90a\tsm_100f ")
          .value();
  EXPECT_EQ(spelling.name, "quantize_nvfp4");
  ASSERT_EQ(spelling.values.size(), 3u);
  EXPECT_EQ(spelling.values[1].first, "COLS");
  EXPECT_EQ(spelling.values[1].second, (std::vector<std::string>{"4096", "5120"}));
  EXPECT_EQ(spelling.values[2].second, std::vector<std::string>{"*"});
  EXPECT_EQ(spelling.targets, (std::vector<std::string>{"sm_90a", "sm_100f"}));
  EXPECT_TRUE(parse_spelling("amax").value().targets.empty());
}

TEST(Spelling, ErrorsPointAtTheWord) {
  EXPECT_EQ(parse_spelling("amax IN bf16").error().message(),
            "diecast: parse_error: spelling:6: \"IN\" is no setting\n"
            "  amax IN bf16\n"
            "       ^\n"
            "  fix: write settings as PARAMETER=VALUE and targets after ` @ `");
  EXPECT_EQ(parse_spelling("amax IN=bf16 @ sm_90").error().message(),
            "diecast: parse_error: spelling:16: sm_90 is not a target: from sm_90 up only exact "
            "targets (`a`) and whole families (`f`) exist\n"
            "  amax IN=bf16 @ sm_90\n"
            "                 ^\n"
            "  fix: write sm_90a");
  EXPECT_EQ(parse_spelling("IN=bf16").error().message(),
            "diecast: parse_error: spelling:1: \"IN=bf16\" is no template's name\n"
            "  IN=bf16\n"
            "  ^\n"
            "  fix: write the whole spelling in one pair of quotes, the template's name first");
  for (const char* text : {"", " ", "@ host", "a-b", "k A=", "k A=1,,2", "k A=1 A=2", "k =1",
                           "k A=1 @", "k @ host @ host", "k A=1 @host"})
    EXPECT_FALSE(parse_spelling(text).ok()) << text;
}

TEST(Specialization, OfARequirementThatNeverHoldsSaysSo) {
  const auto refused = [](const std::string& require) {
    const auto tmpl =
        Template::parse("k", "/* diecast\nrequire " + require +
                                 "\nlaunch grid(1) block(32)\n*/\nDIECAST_KERNEL {}\n")
            .value();
    return Specialization::make(tmpl, {}, Target::parse("sm_90a").value()).error().fix;
  };
  EXPECT_EQ(refused("0"), "it never holds: correct that line");
  EXPECT_EQ(refused("cc < 90"), "choose another target");
}

TEST(Specialization, KnowsWhatASizeIsDivisibleBy) {
  const auto tmpl = Template::parse("k",
                                    "/* diecast\n"
                                    "shape int COLS\n"
                                    "shape bool WHOLE = true\n"
                                    "size cols = COLS divisible (WHOLE ? 16 : 1)\n"
                                    "arg x in f32 [4, cols] stride (!WHOLE)\n"
                                    "arg cols\n"
                                    "launch grid(1) block(32)\n"
                                    "*/\nDIECAST_KERNEL {}\n")
                        .value();
  const Target target = Target::parse("sm_90a").value();
  const auto whole =
      Specialization::make(tmpl, Bindings().set("COLS", 0).set("WHOLE", true), target).value();
  EXPECT_EQ(whole.argument_schema(), "tensor x in f32 align 4\nsize cols divisible 16");
  EXPECT_FALSE(whole.arguments()[0].stride);
  const auto any =
      Specialization::make(tmpl, Bindings().set("COLS", 0).set("WHOLE", false), target).value();
  EXPECT_EQ(any.argument_schema(), "tensor x in f32 stride align 4\nsize cols");
  EXPECT_EQ(Specialization::make(tmpl, Bindings().set("COLS", 100), target).error().message(),
            "diecast: constraint_violated: k.cu:4: COLS = 100 is no multiple of 16\n"
            "  fix: the nearest COLS that fit are 96 and 112; or WHOLE = 0");
  for (const Bindings& each : tmpl->space(target, Bindings().set("COLS", 100)).value())
    EXPECT_EQ(each.find("WHOLE")->number, 0);
}

}  // namespace
}  // namespace diecast
