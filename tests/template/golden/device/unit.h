#pragma once
constexpr int kUnit = 1;
