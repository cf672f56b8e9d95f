// The owner's locale writes numbers as it likes; what diecast writes and reads stays the same.
#include <diecast/base/text.h>
#include <diecast/runtime/manifest.h>
#include <gtest/gtest.h>

#include <clocale>
#include <locale>
#include <sstream>

#include "runtime/fake_machine.h"

namespace diecast {
namespace {

using testing::FakeMachine;

// 1.234.567,5
struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

class InLocale {
 public:
  InLocale() {
    std::locale::global(std::locale(std::locale::classic(), new Commas));
    for (const char* name : {"tr_TR.UTF-8", "de_DE.UTF-8"}) ::setlocale(LC_ALL, name);
  }
  ~InLocale() {
    std::locale::global(std::locale::classic());
    ::setlocale(LC_ALL, "C");
  }
};

// Whatever has a number in it or is read from text that has.
std::string everything(FakeMachine& machine) {
  const auto runtime = machine.runtime();
  const auto one =
      runtime->specialize("quantize_nvfp4 IN=bf16 COLS=16384 LAYOUT=s128x4 @ sm_100a").value();
  Artifact artifact = *runtime->resolve(one).value().artifact;
  artifact.compile_ms = 1234.5;
  const ArtifactKey key = runtime->key(one).value();
  const Bytes entry = encode_entry(key, artifact).value();
  const auto manifest =
      expand_manifest(*runtime, "amax IN=f16 COLS=4096,131072 @ sm_90a\n", "m.txt", {}).value();
  const auto broken = runtime->specialize("amax IN=f16 COLS=4101 ROWS=dense THREADS=7 @ sm_90a");
  return cat(one.spelling(), "\n", runtime->render(one).value().text, key.hex(), "\n",
             xxh3_128(entry).hex(), "\n", manifest.back().spelling(), "\n",
             broken ? "" : broken.error().message(), "\n", human_bytes(1234567890), "\n",
             1234567.5);
}

TEST(Locale, ChangesNothingThatIsWrittenOrRead) {
  FakeMachine plain, elsewhere;
  const std::string expected = everything(plain);
  std::string found;
  {
    const InLocale commas;
    std::ostringstream shown;
    shown << 1234567 << ' ' << 0.5;
    ASSERT_EQ(shown.str(), "1.234.567 0,5");  // the locale is in force
    found = everything(elsewhere);
  }
  EXPECT_EQ(found, expected);
  EXPECT_NE(expected.find("COLS=16384"), std::string::npos);
}

}  // namespace
}  // namespace diecast
