// Threads of the library's own, in a process whose signals are somebody else's.
#pragma once

#include <functional>
#include <thread>

namespace diecast {

// A thread that runs `work` and takes no signal sent to the process: the application's handlers run
// on its own threads, which expect them. Its own faults (SIGSEGV and the like) go to their handlers
// as anywhere. Throws std::system_error where no thread is to be had, and std::bad_alloc.
std::thread start_thread(std::function<void()> work);

}  // namespace diecast
