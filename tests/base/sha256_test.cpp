// The standard's vectors (FIPS 180-4 examples and the million), and that pieces do not matter.
#include <diecast/base/sha256.h>
#include <gtest/gtest.h>

namespace diecast {
namespace {

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(as_bytes(text));
  return hex(hash.finish());
}

TEST(Sha256, GivesTheStandardsDigests) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmno"
                   "pqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  const std::string text(300, 'x');
  for (std::size_t first = 0; first <= 130; ++first) {
    Sha256 hash;
    hash.add(as_bytes(text).first(first));
    hash.add(as_bytes(text).subspan(first));
    EXPECT_EQ(hex(hash.finish()), sha256(text)) << first;
  }
}

TEST(Sha256, ReadsPinsOfExactlySixtyFourDigits) {
  const std::string digits = sha256("abc");
  EXPECT_EQ(hex(parse_sha256(digits).value()), digits);
  std::string upper = digits;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(hex(parse_sha256(upper).value()), digits);
  EXPECT_FALSE(parse_sha256(digits.substr(1)));
  EXPECT_FALSE(parse_sha256(digits + "0"));
  EXPECT_FALSE(parse_sha256(digits.substr(1) + "g"));
}

}  // namespace
}  // namespace diecast
