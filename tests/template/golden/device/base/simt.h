#pragma once
#include <diecast/device/base/types.h>
#define DIECAST_DEVICE inline
