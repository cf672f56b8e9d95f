// cuda.h and cudaTypedefs.h where a CUDA toolkit is: then DIECAST_HAS_CUDA_H is defined.
#pragma once

#if __has_include(<cudaTypedefs.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cudaTypedefs.h>
#define DIECAST_HAS_CUDA_H
#endif
