// Everything an application needs: #include <diecast/diecast.h>, link diecast::diecast.
#pragma once

#if __cplusplus < 202002L
#error "diecast needs C++20: compile with -std=c++20 (PyTorch extensions ask nvcc for less)"
#else

#include <diecast/base/error.h>
#include <diecast/base/version.h>
#include <diecast/launch/cuda_device.h>
#include <diecast/launch/device_memory.h>
#include <diecast/launch/host_device.h>
#include <diecast/launch/kernel.h>
#include <diecast/ops/every_op.h>
#include <diecast/ops/expand_ops.h>
#include <diecast/ops/group/quantized_group.h>
#include <diecast/ops/group/tensor_group.h>
#include <diecast/ops/nvfp4/recipe.h>
#include <diecast/ops/quantized_buffer.h>
#include <diecast/ops/quantized_tensor.h>
#include <diecast/ops/reference/numbers.h>
#include <diecast/ops/reference/nvfp4_sides.h>
#include <diecast/ops/reference/nvfp4_te.h>
#include <diecast/ops/tensor.h>
#include <diecast/ops/weights/callback_communicator.h>
#include <diecast/ops/weights/megatron.h>
#include <diecast/ops/weights/nccl.h>
#include <diecast/ops/weights/thread_ranks.h>
#include <diecast/runtime/manifest.h>
#include <diecast/runtime/runtime.h>
#include <diecast/runtime/tuner.h>
#include <diecast/runtime/warm.h>

#endif
