// A block's threads as fibers on one operating-system thread: they yield only at a barrier or a
// warp exchange, so a block needs no locks, and a barrier that some threads skip is an error
// instead of a hang. The interface between this machine and a compiled host kernel is the plain C
// struct in templates/device/host_abi.h.
#pragma once
