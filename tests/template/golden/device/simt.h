#pragma once
#include <diecast/device/types.h>
#define DIECAST_DEVICE inline
