// Spellings by which a text could read what is outside it, for the tests of all compilers. None of
// them may let a file's content decide code, log or outcome. `@` stands for the file's path, which
// defines ORACLE where it is there; behind each spelling comes KERNEL_OF_ORACLE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace diecast::testing {

struct Spelling {
  const char* name;
  std::string text;
};

// Directives that include, however they are written.
inline std::vector<Spelling> including_spellings() {
  return {
      {"plain", "#include \"@\"\n"},
      {"indented", " \t# \t include \"@\"\n"},
      {"joined", "#inc\\\nlude \"@\"\n"},
      {"joined twice", "#\\\n\\\ninclude \"@\"\n"},
      {"joined in the mark", "\\\n#include \"@\"\n"},
      {"joined over blanks", "#inc\\ \nlude \"@\"\n"},
      {"comment joined over blanks", "// a comment \\ \n#include \"@\"\n"},
      {"comment whose end is joined over blanks", "/* *\\ \n/\n#include \"@\"\n/* */\n"},
      {"digraph", "%:include \"@\"\n"},
      {"trigraph", "?\?=include \"@\"\n"},
      {"joined by a trigraph", "#inc?\?/\nlude \"@\"\n"},
      {"comments within", "/**/ # /**/ include /**/ \"@\"\n"},
      {"behind a comment of two lines", "int y; /*\n*/ #include \"@\"\n"},
      {"by a macro", "#define H \"@\"\n#include H\n"},
      {"by a macro of a macro", "#define S(x) #x\n#define H(x) S(x)\n#include H(@)\n"},
      {"angled", "#include <@>\n"},
      {"next", "#include_next \"@\"\n"},
      {"import", "#import \"@\"\n"},
      {"embed", "const int v[] = {\n#embed \"@\"\n};\n#define ORACLE v[0]\n"},
      {"module", "import \"@\";\n"},
      {"exported module", "export import <@>;\n"},
      {"carriage return", "int y;\r#include \"@\"\n"},
      {"carriage return in a comment", "// a comment\r#include \"@\"\n"},
      {"vertical tab", "\v#include \"@\"\n"},
      {"form feed", "#\finclude \"@\"\n"},
      {"zero", std::string("\0#include \"@\"\n", 14)},
      {"escape delete", "\x7f#include \"@\"\n"},
      {"universal character name", "#\\u0069nclude \"@\"\n"},
      {"character that opens a comment", "auto q = L'/*';\n#include \"@\"\n// */\n"},
      {"digit separator", "constexpr int q = 1'0; //'\n#include \"@\"\n"},
      {"quote in a number of a skipped line", "#if 0\n1on't /*\n#endif\n#include \"@\"\n/* */\n"},
      {"quote behind a suffix", "#if 0\n1f'a /*\n#endif\n#include \"@\"\n/* */\n"},
      {"number with a quote behind", "#define F(x)\nF(0x1p+'/*')\n#include \"@\"\n// */\n"},
      {"suffix R", "#define R\nconst char* s = \"x\"R\"(\n#include \"@\"\n//)\";\n"},
      {"suffix R and an encoding", "#define R\nauto s = u8\"x\"R\"(\n#include \"@\"\n//)\";\n"},
      {"name that ends in R", "#define $R\nauto s = $R\"(\";\n#include \"@\"\n//)\";\n"},
      {"quote in a skipped line", "#if 0\ndon't /*\n#endif\n#include \"@\"\n/* */\n"},
      {"quote in a pragma", "#pragma unroll don't /*\n#include \"@\"\n/* */\n"},
      {"quote in an error", "#if 0\n#error don't /*\n#endif\n#include \"@\"\n/* */\n"},
      {"raw string in a directive", "#define A R\"(\n#include \"@\"\n)\"\n"},
      {"raw string in a skipped line", "#if 0\nR\"(\n#endif\n#include \"@\"\n//)\"\n#endif\n"},
      {"raw string's end in a comment", "auto s = R\"x( // )x\"\n;\n#include \"@\"\n"},
  };
}

// Operators, pragmas, line names, and what is pasted to be one.
inline std::vector<Spelling> asking_spellings() {
  const std::string then = "\n#define ORACLE 3\n#else\n#define ORACLE 4\n#endif\n";
  const std::string paste = "#define P(a, b) a##b\n";
  return {
      {"has include", "#if __has_include(\"@\")" + then},
      {"has include, angled", "#if __has_include(<@>)" + then},
      {"has include in elif", "#if 0\n#elif __has_include(\"@\")" + then},
      {"has include, joined", "#if __has_\\\ninclude(\"@\")" + then},
      {"has include next", "#if __has_include_next(\"@\")" + then},
      {"has embed", "#if __has_embed(\"@\")" + then},
      {"has include by a macro", "#define H __has_include\n#if H(\"@\")" + then},
      {"has include pasted", paste + "#if P(__has_, include)(\"@\")" + then},
      {"has include pasted in a macro", paste + "#define Q P(__has_,include)(\"@\")\n#if Q" + then},
      {"has include pasted of words", "#define Q __has_##include\n#if Q(\"@\")" + then},
      {"has include pasted by VA_ARGS",
       "#define P(a, ...) a##__VA_ARGS__\n#if P(__has_, include)(\"@\")" + then},
      {"dependency", "#pragma GCC dependency \"@\"\n"},
      {"dependency, joined", "#pragma GCC depend\\\nency \"@\"\n"},
      {"dependency by _Pragma", "_Pragma(\"GCC dependency \\\"@\\\"\")\n"},
      {"dependency by a raw _Pragma", "_Pragma(R\"(GCC dependency \"@\")\")\n"},
      {"dependency by a wide _Pragma", "_Pragma(L\"GCC dependency \\\"@\\\"\")\n"},
      {"dependency by a macro", "#define D _Pragma\nD(\"GCC dependency \\\"@\\\"\")\n"},
      {"dependency by a pasted _Pragma", paste + "P(_Pra, gma)(\"GCC dependency \\\"@\\\"\")\n"},
      {"dependency made a string", "#define D(x) _Pragma(#x)\nD(GCC dependency \"@\")\n"},
      {"dependency by DIECAST_PRAGMA",
       "#define DIECAST_PRAGMA(text) _Pragma(#text)\nDIECAST_PRAGMA(GCC dependency \"@\")\n"},
      {"dependency by its alias",
       "#define DIECAST_PRAGMA(text) _Pragma(#text)\n#define D DIECAST_PRAGMA\n"
       "D(GCC dependency \"@\")\n"},
      {"dependency by a parameter",
       "#define DIECAST_PRAGMA(text) _Pragma(#text)\n#define D(unroll) DIECAST_PRAGMA(unroll)\n"
       "D(GCC dependency \"@\")\n"},
      {"dependency where DIECAST_PRAGMA seems to be defined",
       "#define define\n#define DIECAST_PRAGMA(text) _Pragma(#text)\n"
       "define DIECAST_PRAGMA(GCC dependency \"@\")\n"},
      {"dependency behind a comment of two lines", "#pragma GCC /*\n*/ dependency \"@\"\n"},
      {"precompiled header", "#pragma GCC pch_preprocess \"@\"\n"},
      {"include alias", "#pragma include_alias(\"a.h\", \"@\")\n"},
      {"clang module", "#pragma clang module import @\n"},
      {"line", "#line 1 \"@\"\n#warning a line is shown\n"},
      {"line marker", "# 1 \"@\"\n#warning a line is shown\n"},
      {"line marker of an included file", "# 1 \"@\" 1 3\n#warning a line is shown\n"},
      {"line by a macro", "#define L \"@\"\n#line 1 L\n#warning a line is shown\n"},
      {"ident", "#ident \"a\\n.incbin \\\"@\\\"\"\n"},
      {"assert", "#assert file(@)\n#if #file(@)\n#endif\n"},
  };
}

// What an assembler would read.
inline std::vector<Spelling> assembling_spellings() {
  const std::string paste = "#define P(a, b) a##b\n";
  return {
      {"incbin", "asm(\".incbin \\\"@\\\"\");\n"},
      {"assembler's include", "__asm__(\".include \\\"@\\\"\");\n"},
      {"incbin by another name", "__asm(\".inc\" \"bin \\\"@\\\"\");\n"},
      {"incbin with escapes", "asm(\"\\x2eincbin \\\"@\\\"\");\n"},
      {"incbin by a macro", "#define A asm\nA(\".incbin \\\"@\\\"\");\n"},
      {"incbin pasted", paste + "P(a, sm)(\".incbin \\\"@\\\"\");\n"},
      {"incbin pasted beside a harmless word",
       "#define P(a) a##asm__\nP(__)(\".incbin \\\"@\\\"\");\n"},
      {"incbin in a function", "void f() { asm volatile(\".incbin \\\"@\\\"\"); }\n"},
      {"incbin as a symbol's name", "extern \"C\" int f() asm(\"f\\n.incbin \\\"@\\\"\\n#\");\n"},
      {"incbin as a section's name",
       "__attribute__((section(\".foo\\n.incbin \\\"@\\\"\\n#\"))) int y = 1;\n"},
      {"incbin as a section's name in brackets",
       "[[gnu::section(\".foo\\n.include \\\"@\\\"\\n#\")]] int y = 1;\n"},
      {"incbin as an alias",
       "extern \"C\" int f() { return 1; }\n"
       "int g() __attribute__((alias(\"f\\n.incbin \\\"@\\\"\\n#\")));\n"},
      {"profile as an option",
       "__attribute__((optimize(\"profile-use=@\"))) int f() { return 1; }\n"},
  };
}

inline std::vector<Spelling> outside_spellings() {
  std::vector<Spelling> all = including_spellings();
  for (const auto& more : {asking_spellings(), assembling_spellings()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

// The kernel `k` behind a spelling, with the file's path in it.
inline std::string with_oracle(std::string_view spelling, std::string_view path,
                               std::string_view kernel) {
  std::string out;
  for (const char c : spelling) c == '@' ? out += path : out += c;
  return out + "\n#ifndef ORACLE\n#define ORACLE 7\n#endif\nextern \"C\" " + std::string(kernel) +
         " void k(int* x) { x[0] = ORACLE; }\n";
}

}  // namespace diecast::testing
