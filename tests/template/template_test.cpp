// What a parsed template says, and the points of its space.
#include <diecast/template/template.h>
#include <gtest/gtest.h>
#include <template/scale_rows.h>

#include <set>

namespace diecast {
namespace {

TEST(Template, HasTheProseWithoutItsSlashes) {
  EXPECT_EQ(scale_rows()->prose(),
            "scale_rows: every row of a [rows, cols] matrix times its factor.\n"
            "One thread block a row; a \"tail\" kept whole.");
}

TEST(Template, HasEveryParameterInOrder) {
  const auto tmpl = scale_rows();
  std::string names;
  for (const Parameter& parameter : tmpl->parameters()) names += parameter.name + " ";
  EXPECT_EQ(names, "COLS ALIGNED IN BLOCK LAYOUT THREADS waves ");
  const Parameter& cols = *tmpl->parameter("COLS");
  EXPECT_EQ(cols.kind, Parameter::Kind::shape);
  EXPECT_EQ(cols.type, ParameterType::integer);
  EXPECT_TRUE(cols.allowed.empty());
  EXPECT_FALSE(cols.fallback.has_value());
  EXPECT_EQ(cols.comment, "row length; 0 = not fixed at compile time");
  EXPECT_EQ(cols.place.text(), "scale_rows.cu:4");
  EXPECT_EQ(tmpl->parameter("ALIGNED")->fallback, Value::boolean(true));
  EXPECT_EQ(tmpl->parameter("IN")->allowed[1], Value::of(DType::f16));
  EXPECT_EQ(tmpl->parameter("LAYOUT")->allowed[1].number, 1);
  EXPECT_TRUE(tmpl->parameter("THREADS")->compiled());
  EXPECT_FALSE(tmpl->parameter("waves")->compiled());
  EXPECT_EQ(tmpl->parameter("cols"), nullptr);
}

TEST(Template, HasSizesArgumentsAndRules) {
  const auto tmpl = scale_rows();
  EXPECT_TRUE(tmpl->size("rows")->device);
  EXPECT_EQ(tmpl->size("cols")->fixed_by, "COLS");
  ASSERT_EQ(tmpl->arguments().size(), 9u);
  const Argument& x = *tmpl->argument("x");
  EXPECT_EQ(x.kind, Argument::Kind::tensor);
  EXPECT_TRUE(x.stride);
  EXPECT_EQ(x.shape.size(), 2u);
  EXPECT_EQ(x.align->text(), "(ALIGNED ? 16 : bits(IN) / 8)");
  EXPECT_EQ(tmpl->argument("y")->direction, Argument::Direction::out);
  EXPECT_EQ(tmpl->argument("total")->direction, Argument::Direction::inout);
  EXPECT_EQ(tmpl->argument("rows")->kind, Argument::Kind::size);
  EXPECT_EQ(tmpl->argument("bias")->kind, Argument::Kind::scalar);
  EXPECT_EQ(tmpl->argument("bias")->comment, "added to every factor");
  EXPECT_EQ(tmpl->argument("group")->type, "Group");
  EXPECT_EQ(tmpl->argument("group")->bytes, 16);
  EXPECT_EQ(tmpl->argument("map")->kind, Argument::Kind::tensor_map);
  EXPECT_EQ(tmpl->argument("map")->bytes, 128);
  EXPECT_EQ(tmpl->requirements()[1].reason, "whole \"blocks\"");
  EXPECT_EQ(tmpl->requirements()[1].place.line, 23);
  EXPECT_EQ(tmpl->launch().grid[0].text(), "min(rows, sm_count * waves)");
  EXPECT_EQ(tmpl->launch().shared->text(), "COLS * bits(IN) / 8");
  EXPECT_TRUE(tmpl->launch().dependent);
  EXPECT_FALSE(tmpl->launch().cooperative);
  EXPECT_EQ(tmpl->launch().place.line, 25);
  EXPECT_EQ(tmpl->exchange(), Exchange::warp);
  EXPECT_EQ(tmpl->samples()[1].values, (std::vector<std::int64_t>{0, 1, 7}));
}

TEST(Template, CodeStartsOnTheLineAfterTheHeader) {
  const auto tmpl = scale_rows();
  EXPECT_EQ(tmpl->code_line(), 31);
  EXPECT_EQ(tmpl->code().substr(0, 33), "#include <diecast/device/twice.h>");
  EXPECT_EQ(tmpl->text(), scale_rows_text());
}

TEST(Template, SupportsTheTargetsItLists) {
  const auto parse = [](const std::string& line) {
    return Template::parse(
               "k", "/* diecast\nlaunch grid(1) block(1)\n" + line + "\n*/\nDIECAST_KERNEL {}\n")
        .value();
  };
  const auto ours = parse("target host, sm_89+");
  EXPECT_TRUE(ours->supports(target("host")));
  EXPECT_TRUE(ours->supports(target("host_v3")));
  EXPECT_FALSE(ours->supports(target("sm_86")));
  EXPECT_TRUE(ours->supports(target("sm_89")));
  EXPECT_TRUE(ours->supports(target("sm_120f")));
  EXPECT_EQ(ours->targets_text(), "host, sm_89+");
  const auto exact = parse("target sm_90a, sm_100f");
  EXPECT_FALSE(exact->supports(target("host")));
  EXPECT_TRUE(exact->supports(target("sm_90a")));
  EXPECT_TRUE(exact->supports(target("sm_100f")));
  EXPECT_FALSE(exact->supports(target("sm_100a")));
  EXPECT_EQ(exact->minimum_cc(), 0);
  EXPECT_EQ(exact->targets_text(), "sm_90a, sm_100f");
  const auto with_avx2 = parse("target host_v3, sm_90a");
  EXPECT_TRUE(with_avx2->supports(target("host_v3")));
  EXPECT_FALSE(with_avx2->supports(target("host")));
  EXPECT_EQ(parse("")->targets_text(), "host, sm_80+");
}

TEST(Template, ExchangeIsBlockUnlessSaid) {
  EXPECT_EQ(Template::parse("k", "/* diecast\nlaunch grid(1) block(1)\n*/\nDIECAST_KERNEL {}\n")
                .value()
                ->exchange(),
            Exchange::block);
}

TEST(Template, WindowsLineEndsChangeNothing) {
  std::string text;
  for (char c : scale_rows_text()) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const auto tmpl = Template::parse("scale_rows", text);
  ASSERT_TRUE(tmpl.ok()) << tmpl.error().message();
  EXPECT_EQ((*tmpl)->prose(), scale_rows()->prose());
  EXPECT_EQ((*tmpl)->parameter("COLS")->comment, scale_rows()->parameter("COLS")->comment);
  EXPECT_EQ((*tmpl)->code_line(), 31);
}

TEST(Parameter, ReadsTheWordsOfASpelling) {
  const auto tmpl = scale_rows();
  EXPECT_EQ(tmpl->parameter("COLS")->read("4096").value(), Value::integer(4096));
  EXPECT_EQ(tmpl->parameter("ALIGNED")->read("0").value(), Value::boolean(false));
  EXPECT_EQ(tmpl->parameter("ALIGNED")->read("true").value(), Value::boolean(true));
  EXPECT_EQ(tmpl->parameter("IN")->read("bf16").value(), Value::of(DType::bf16));
  EXPECT_EQ(tmpl->parameter("LAYOUT")->read("s128x4").value().number, 1);
  EXPECT_EQ(tmpl->parameter("ALIGNED")->check(Value::integer(1)).value(), Value::boolean(true));
  EXPECT_EQ(tmpl->parameter("IN")->check(Value::of(DType::f32)).value().word, "f32");
}

TEST(Parameter, AWrongValueNamesTheAllowedOnes) {
  const auto tmpl = scale_rows();
  const auto error = [&](const char* name, const char* word) {
    return tmpl->parameter(name)->read(word).error().message();
  };
  EXPECT_EQ(error("IN", "bf61"),
            "diecast: value_not_allowed: IN cannot be \"bf61\"; did you mean `bf16`?\n"
            "  fix: give IN one of bf16, f16, f32");
  EXPECT_EQ(error("BLOCK", "17"),
            "diecast: value_not_allowed: BLOCK cannot be \"17\"\n"
            "  fix: give BLOCK one of 16, 32");
  EXPECT_EQ(error("COLS", "-16"),
            "diecast: value_not_allowed: COLS cannot be \"-16\"\n"
            "  fix: give COLS an integer of 0 or more");
  EXPECT_EQ(error("COLS", "4096x"),
            "diecast: value_not_allowed: COLS cannot be \"4096x\"\n"
            "  fix: give COLS an integer of 0 or more");
  EXPECT_EQ(error("ALIGNED", "2"),
            "diecast: value_not_allowed: ALIGNED cannot be \"2\"\n"
            "  fix: give ALIGNED 0 or 1");
  EXPECT_FALSE(tmpl->parameter("IN")->check(Value::integer(0)).ok());
  EXPECT_FALSE(tmpl->parameter("COLS")->check(Value::of(DType::f32)).ok());
  EXPECT_FALSE(tmpl->parameter("LAYOUT")->check(Value::boolean(true)).ok());
}

TEST(Template, SpaceIsEveryCombinationThatHolds) {
  const auto points = scale_rows()->space(target("sm_90a")).value();
  // 3 COLS x 2 ALIGNED x 3 IN x 2 BLOCK x 2 LAYOUT x 3 THREADS, less COLS=16 with BLOCK=32, less
  // f32 with BLOCK=32.
  EXPECT_EQ(points.size(), 216u - 36u - 2u * 2u * 2u * 3u);
  std::set<std::string> seen;
  for (const Bindings& point : points) {
    const auto made = Specialization::make(scale_rows(), point, target("sm_90a"));
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->bindings(), point);
    EXPECT_EQ(point.find("waves")->number, 64);
    EXPECT_TRUE(seen.insert(made->spelling()).second) << made->spelling();
  }
}

TEST(Template, SpaceDependsOnTheTarget) {
  EXPECT_EQ(scale_rows()->space(target("host")).value().size(), 216u - 36u);
  EXPECT_EQ(scale_rows()->space(target("sm_120a")).value().size(), (216u - 36u) * 2 / 3);
  const auto only = Template::parse(
      "k", "/* diecast\nlaunch grid(1) block(1)\ntarget sm_90a\n*/\nDIECAST_KERNEL {}\n");
  EXPECT_EQ((*only)->space(target("sm_90a")).value().size(), 1u);
  EXPECT_TRUE((*only)->space(target("host")).value().empty());
}

TEST(Template, SpaceIsNarrowedByFixedValues) {
  const auto tmpl = scale_rows();
  const Bindings fixed = Bindings().set("COLS", 48).set("IN", "f16").set("waves", 1);
  const auto points = tmpl->space(target("host"), fixed).value();
  EXPECT_EQ(points.size(), 2u * 1u * 2u * 3u);
  for (const Bindings& point : points) {
    EXPECT_EQ(point.find("COLS")->number, 48);
    EXPECT_EQ(*point.find("IN"), Value::of(DType::f16));
    EXPECT_EQ(point.find("waves")->number, 1);
  }
  EXPECT_TRUE(tmpl->space(target("host"), Bindings().set("COLS", 17)).value().empty());
}

TEST(Template, SpaceRefusesWhatItDoesNotKnow) {
  const auto tmpl = scale_rows();
  EXPECT_EQ(
      tmpl->space(target("host"), Bindings().set("COL", 16)).error().message(),
      "diecast: unknown_parameter: scale_rows has no parameter \"COL\"; did you mean `COLS`?\n"
      "  fix: its parameters are COLS, ALIGNED, IN, BLOCK, LAYOUT, THREADS, waves");
  EXPECT_FALSE(tmpl->space(target("host"), Bindings().set("BLOCK", 17)).ok());
  const auto free = Template::parse("k",
                                    "/* diecast\nshape int COLS\nlaunch grid(1) block(1)\n*/\n"
                                    "DIECAST_KERNEL {}\n");
  EXPECT_EQ((*free)->space(target("host")).error().message(),
            "diecast: value_missing: k: COLS can be any integer and has no samples\n"
            "  fix: give COLS=..., or add a line `sample COLS {...}` to k.cu");
}

TEST(Template, SpaceIsBounded) {
  const auto points_of = [](int parameters, const std::string& line) {
    std::string text = "/* diecast\nlaunch grid(1) block(1)\n" + line + "\n";
    for (int i = 0; i < parameters; ++i) text += "option bool B" + std::to_string(i) + "\n";
    const auto tmpl = Template::parse("k", text + "*/\nDIECAST_KERNEL {}\n").value();
    const auto points = tmpl->space(target("host"));
    return points ? std::to_string(points->size()) : points.error().message();
  };
  EXPECT_EQ(points_of(64, ""),
            "diecast: invalid_argument: the space of k has more than 16000000 combinations\n"
            "  fix: fix some of its parameters");
  EXPECT_EQ(points_of(20, ""),
            "diecast: invalid_argument: the space of k has more than 1000000 points\n"
            "  fix: fix some of its parameters");
  EXPECT_EQ(points_of(20, "require B0 + B1 + B2 + B3 + B4 + B5 + B6 == 7"), "8192");
}

}  // namespace
}  // namespace diecast
