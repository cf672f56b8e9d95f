#pragma once
#include <diecast/device/base/simt.h>
#include <diecast/device/unit.h>
DIECAST_DEVICE int twice(int x) { return 2 * x * kUnit; }
