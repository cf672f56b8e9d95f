"""Runtimes: from a template to a kernel, and what a process knows of its cache."""

import atexit
import os
import weakref

from . import _core, _frameworks
from ._errors import ArgumentError, DtypeError

_with_callbacks = weakref.WeakSet()


class Runtime:
    """The line from template to kernel, with a cache of its own choosing.

    cache: "off", a directory, or roots; cache_policy: auto, require-hit, read-only, off, rebuild;
    templates: a folder in place of the built-in ones; tuning, trace: files; nvrtc: the path of
    libnvrtc.so; host_compiler: a C++ compiler. None: what the environment says (DIECAST_CACHE and so
    on). on_event(event, spelling, detail, milliseconds) is called for whatever the runtime does, on
    the thread where it happens. Raises ArgumentError for options that make no sense.
    """

    def __init__(self, *, cache=None, cache_policy=None, templates=None, tuning=None, trace=None,
                 nvrtc=None, host_compiler=None, on_event=None):
        nvrtc = _frameworks.find_nvrtc() if nvrtc is None else nvrtc
        texts = [None if text is None else os.fsdecode(text) for text in
                 (cache, cache_policy, templates, tuning, trace, nvrtc, host_compiler)]
        self._owner = _core.runtime_open(*texts, on_event)
        if on_event is not None:
            _with_callbacks.add(self)

    @property
    def handle(self):
        """The number by which the C interface knows it; 0 when it is closed."""
        return self._owner.number

    def close(self):
        """Waits for calls in flight and ends the runtime. What was prepared with it goes on."""
        self._owner.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def add(self, path):
        """Adds a template NAME.cu. Raises ArgumentError for one that does not parse."""
        _core.template_add(self.handle, os.fsdecode(path))

    def add_text(self, name, text):
        """Adds a template from a text; `name` becomes the kernel's symbol."""
        _core.template_add_text(self.handle, name, text)

    def add_header(self, name, path):
        """Adds a header, which templates include as <name>."""
        _core.header_add(self.handle, name, os.fsdecode(path))

    def templates(self):
        """The names of the templates, sorted."""
        return _core.template_names(self.handle).split()

    def describe(self, template):
        """What a template's header says: parameters, sizes, arguments and targets, as a dict."""
        import json
        return json.loads(_core.template_describe(self.handle, template))

    def variants(self, spelling):
        """Every specialization that agrees with "NAME A=1 @ TARGET" (without a target: the host)."""
        return _core.template_variants(self.handle, spelling).splitlines()

    def specialize(self, spelling, device=None):
        """The whole spelling of one that names its target, or of one for a device."""
        return _core.specialize(self.handle, _core.device_handle(device), spelling)

    def source(self, spelling):
        """The text that is compiled for a spelling with a target."""
        return _core.source(self.handle, spelling)

    def ptx(self, spelling):
        """The PTX of a spelling with a GPU's target, as NVRTC makes it now."""
        return _core.ptx(self.handle, spelling)

    def sass(self, spelling):
        """The machine code of a spelling with a GPU's target as text, by nvdisasm or cuobjdump."""
        return _core.sass(self.handle, spelling)

    def resolve(self, spelling):
        """Finds or compiles the machine code: a dict of code, registers, spill_bytes and so on."""
        return _core.resolve(self.handle, spelling)

    def warm(self, manifest, targets=None):
        """Resolves every line of a manifest's text for targets ("sm_90a,sm_100a"). Needs no GPU.

        Returns how many were wanted, compiled and found. Raises the first error of a line."""
        return _core.warm(self.handle, manifest, targets)

    def create_bundle(self, path, manifest, targets=None):
        """Writes a bundle of what a manifest's text names for targets, which Runtime(cache="bundle:PATH")
        takes. Needs no GPU. Returns its SHA-256, for "bundle:PATH#sha256=...".

        Raises the first error of a line; then nothing is written."""
        return _core.bundle_create(self.handle, manifest, targets, os.fsdecode(path))

    def tune(self, spelling, sizes, device=None):
        """Times every configuration of "NAME A=1" at each of `sizes`, dicts as {"rows": 16}.

        Returns the records, lines of a tuning file; the runtime chooses by them from then on. Never
        call it while serving."""
        return self._tune(spelling, sizes, device, (), ())

    def _tune(self, spelling, sizes, device, values, arguments):
        """The same with values of arguments, and the name and traits of each."""
        sizes = list(sizes)
        if not all(isinstance(point, dict) for point in sizes):
            raise DtypeError("dtype_mismatch", "tune: sizes are no dicts", 'pass a list as [{"rows": 16}]')
        points = (" ".join(f"{name}={size}" for name, size in point.items()) for point in sizes)
        return _core.tune(self.handle, _core.device_handle(device), spelling, "\n".join(points), values,
                          arguments)

    def add_tuning(self, records):
        """Chooses by these records too: the text of a tuning file, or its lines."""
        text = records if isinstance(records, str) else "\n".join(records)
        _core.tuning_add(self.handle, text)

    def freeze(self, late="error"):
        """From now on a compile or a load raises WouldCompile, or with "warn" is an event."""
        if late not in ("error", "warn"):
            raise ArgumentError("value_not_allowed", f"freeze: late = {late!r}", 'late is "error" or "warn"')
        _core.freeze(self.handle, late == "warn")

    def flush(self):
        """Waits until everything compiled is in the cache."""
        _core.flush(self.handle)

    def counters(self):
        """How often each step was taken: compiled, disk_hits, memory_hits, loaded and so on."""
        return _core.counters(self.handle)

    def cache_state(self):
        """The roots of the cache, or why there is none."""
        return _core.cache_state(self.handle)


class _DefaultRuntime(Runtime):
    """The process's own, which every function takes where none is named."""

    def __init__(self):  # pylint: disable=super-init-not-called
        pass

    @property
    def handle(self):
        return _core.default_runtime_handle()

    def close(self):
        """Stays open: it ends with the process."""


_default = _DefaultRuntime()


def runtime():
    """The process's own runtime, made from the environment at its first use."""
    return _default


def given_or_own(given):
    """The runtime that a call names, else the process's own."""
    if given is None:
        return _default
    if isinstance(given, Runtime):
        return given
    raise DtypeError("dtype_mismatch", f"runtime is {type(given).__name__}, no diecast.Runtime",
                     "pass one, or leave it out")


def device_info(device="cuda:0"):
    """A device as a dict: name, target, capability, multiprocessors, memory_bytes."""
    return _core.device_info(_core.device_handle(device))


def cuda_device_count():
    """How many GPUs the driver shows. Raises ExecutionError without a driver."""
    return _core.cuda_device_count()


@atexit.register
def _end():
    """Events call Python, which ends before the process does; and the cache keeps its counts."""
    _core.stop_threads()
    for one in list(_with_callbacks):
        one.close()
    _core.close_default_runtime()
