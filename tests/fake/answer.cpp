// The smallest shared library: what Library's tests open, from its file and from memory.
namespace {
int calls = 0;
}

extern "C" int answer() { return 42; }
extern "C" int count_calls() { return ++calls; }
