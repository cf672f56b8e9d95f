// What CUDA gives to every kernel. On a GPU the words are the compiler's own; on the host they are in
// these headers, with the same results to the bit: fused or reordered nowhere, because host kernels
// are compiled with -ffp-contract=off. No standard header is included, so that a host compile stays
// short.
#pragma once

#include <diecast/device/base/atomics.h>
#include <diecast/device/base/block.h>
#include <diecast/device/base/floats.h>
#include <diecast/device/base/integers.h>
#include <diecast/device/base/lanes.h>
#include <diecast/device/base/report.h>
#include <diecast/device/base/vectors.h>
