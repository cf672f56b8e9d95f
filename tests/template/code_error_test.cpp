// What a template's code asks of the preprocessor, which knows nothing of its header: whole texts.
#include <diecast/template/template.h>
#include <gtest/gtest.h>
#include <template/header_errors.h>

namespace diecast {
namespace {

// The error of a template with these lines between its header and its kernel; the first is line 8.
std::string error_of_code(const std::string& code) {
  const auto tmpl = Template::parse("k",
                                    "/* diecast\noption enum MODE {a, b}\ntune int THREADS = 32\n"
                                    "size rows\narg rows\nlaunch grid(1) block(THREADS)\n*/\n" +
                                        code + "\nDIECAST_KERNEL {}\n");
  return tmpl ? "parsed" : tmpl.error().message();
}

TEST(TemplateCode, AsksNothingOfTheHeadersWordsInAMacrosCondition) {
  EXPECT_EQ(error_of_code("#if cc >= 90\n#endif"),
            "diecast: parse_error: k.cu:8:5: `cc` is a word of the header, not a macro: here it "
            "would always be 0\n"
            "  #if cc >= 90\n"
            "      ^\n"
            "  fix: of macros there are DIECAST_HOST and DIECAST_CC");
  for (const char* line : {"#if !host", "#elif X || host", "#if MODE_b", "#ifdef cc"})
    EXPECT_NE(error_of_code(line).find("is a word of the header, not a macro"), std::string::npos)
        << line;
  for (const char* line : {"#if DIECAST_CC >= 90 && !DIECAST_HOST", "#if HOST || cc_of(host_1)",
                           "#if X  // host", "#pragma unroll cc", "#error host"})
    EXPECT_EQ(error_of_code(line), "parsed") << line;
}

TEST(TemplateCode, AsksForTheValueOfWhatIsDefinedEverywhere) {
  EXPECT_EQ(error_of_code("#ifdef DIECAST_HOST\n#endif"),
            "diecast: parse_error: k.cu:8:8: `DIECAST_HOST` is defined on every target: 1 on the "
            "host, else 0\n"
            "  #ifdef DIECAST_HOST\n"
            "         ^\n"
            "  fix: ask for its value: #if DIECAST_HOST");
  EXPECT_EQ(error_of_code("int x;\n#if X && !defined( DIECAST_CC )\n#endif"),
            "diecast: parse_error: k.cu:9:20: `DIECAST_CC` is defined on every target: 0 on the "
            "host\n"
            "  #if X && !defined( DIECAST_CC )\n"
            "                     ^\n"
            "  fix: ask for its value: #if DIECAST_CC >= 90");
  for (const char* line : {"#ifndef DIECAST_HOST", "#elif defined DIECAST_HOST"})
    EXPECT_NE(error_of_code(line).find("is defined on every target"), std::string::npos) << line;
  for (const char* line :
       {"#if defined(DIECAST_HOST) && DIECAST_HOST", "#if defined(X) && DIECAST_HOST",
        "#ifndef DIECAST_HOST\n#define DIECAST_HOST 0\n#endif", "#ifdef __CUDACC__"})
    EXPECT_EQ(error_of_code(line), "parsed") << line;
}

// A habit of CUDA: the parameter would be there, every value of it compiled, and none of them used.
TEST(TemplateCode, HasNoMacroInPlaceOfAParameterOrASize) {
  EXPECT_EQ(error_of_code("#define  THREADS 128"),
            "diecast: parse_error: k.cu:8:10: `THREADS` is declared on line 3: a macro would stand "
            "in its place\n"
            "  #define  THREADS 128\n"
            "           ^\n"
            "  fix: remove it, or choose another name");
  EXPECT_EQ(first_line(error_of_code("int x;\n# define rows(x) x")),
            "diecast: parse_error: k.cu:9:10: `rows` is declared on line 4: a macro would stand in "
            "its place");
  for (const char* line : {"#define ALL THREADS", "#define THREADS_2 (2 * THREADS)",
                           "// #define THREADS 128", "#define", "#undef THREADS"})
    EXPECT_EQ(error_of_code(line), "parsed") << line;
}

// Code for other compilers brings its own.
TEST(TemplateCode, DoesNotDefineTheLimitsOfC) {
  EXPECT_EQ(
      error_of_code("#define INFINITY (1.0f / 0.0f)"),
      "diecast: parse_error: k.cu:8:9: `INFINITY` is there already: every kernel has the limits "
      "of C\n"
      "  #define INFINITY (1.0f / 0.0f)\n"
      "          ^\n"
      "  fix: remove it, or choose another name");
  EXPECT_EQ(
      first_line(error_of_code("int x = INT_MIN;\nenum { INT_MAX = 5 };")),
      "diecast: parse_error: k.cu:9:8: `INT_MAX` is there already: every kernel has the limits "
      "of C");
  EXPECT_NE(error_of_code("constexpr float FLT_MAX = 1e38f;"), "parsed");
  for (const char* line :
       {"#ifndef INFINITY\n#define INFINITY 1e38f\n#endif", "bool x = INT_MAX == 5;",
        "#define MY_INFINITY INFINITY", "// #define NAN 0", "float x = FLT_MAX, y = 1;"})
    EXPECT_EQ(error_of_code(line), "parsed") << line;
}

// A comment that speaks of the wait does not wait.
TEST(TemplateCode, WaitsItselfWhereItsHeaderSaysLate) {
  const auto message = [](const std::string& body) {
    const auto tmpl = Template::parse("k",
                                      "/* diecast\nlaunch grid(1) block(1) dependent(late)\n*/\n"
                                      "DIECAST_KERNEL {\n" +
                                          body + "\n}\n");
    return tmpl ? "parsed" : first_line(tmpl.error().message());
  };
  EXPECT_EQ(message("launch_before_ended (p);"), "parsed");
  for (const char* body : {"", "// launch_before_ended(p);", "/* launch_before_ended(p) */",
                           "no_launch_before_ended(p);"})
    EXPECT_EQ(message(body).find("diecast: parse_error: k.cu:2:35: the body never waits"), 0u)
        << body;
}

}  // namespace
}  // namespace diecast
