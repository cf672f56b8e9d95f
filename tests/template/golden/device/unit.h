// Tests of unit.h.
#pragma once
constexpr int kUnit = 1;
