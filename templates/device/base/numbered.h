// Lists of registers by number, for assembly that names many.
#pragma once

// The texts that `f` makes of the numbers of registers, in order.
#define DIECAST_TENS(f, t) f(t##0) f(t##1) f(t##2) f(t##3) f(t##4) f(t##5) f(t##6) f(t##7) f(t##8) f(t##9)
#define DIECAST_1_TO_15(f) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define DIECAST_16_TO_31(f) f(16) f(17) f(18) f(19) DIECAST_TENS(f, 2) f(30) f(31)
#define DIECAST_1_TO_31(f) DIECAST_1_TO_15(f) DIECAST_16_TO_31(f)
#define DIECAST_0_TO_31(f) f(0) DIECAST_1_TO_31(f)
#define DIECAST_32_TO_63(f) \
  f(32) f(33) f(34) f(35) f(36) f(37) f(38) f(39) DIECAST_TENS(f, 4) DIECAST_TENS(f, 5) f(60) f(61) f(62) f(63)
#define DIECAST_64_TO_95(f) \
  f(64) f(65) f(66) f(67) f(68) f(69) DIECAST_TENS(f, 7) DIECAST_TENS(f, 8) f(90) f(91) f(92) f(93) f(94) f(95)
#define DIECAST_96_TO_127(f) \
  f(96) f(97) f(98) f(99) DIECAST_TENS(f, 10) DIECAST_TENS(f, 11) f(120) f(121) f(122) f(123) f(124) f(125) f(126) f(127)
