"""python -m diecast: the diecast command; `python -m diecast env` is what an issue report needs."""

import os
import sys


def _version(package):
    from importlib import metadata
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _command():
    return os.path.join(os.path.dirname(__file__), "bin", "diecast")


def _doctor():
    """What `diecast doctor` finds, with the NVRTC that Python's packages bring: the driver's, NVRTC's
    and the host compiler's versions and places."""
    import subprocess

    from . import _frameworks
    if not os.path.exists(_command()):
        return []
    nvrtc = _frameworks.find_nvrtc()
    found = subprocess.run([_command(), "doctor"], capture_output=True, text=True, check=False,
                           env=os.environ | ({"DIECAST_NVRTC": nvrtc} if nvrtc else {}))
    return found.stdout.splitlines()


def environment():
    """Lines that describe this machine's diecast, driver, compilers and frameworks."""
    import platform

    import diecast
    lines = [f"diecast {diecast.__version__} in {os.path.dirname(diecast.__file__)}",
             f"python {platform.python_version()} on {platform.platform()}"]
    try:
        count = diecast.cuda_device_count()
        for ordinal in range(count):
            info = diecast.device_info(ordinal)
            lines.append(f"cuda:{ordinal} {info['name']} ({info['target']})")
        lines += ["no CUDA device"] if count == 0 else []
    except diecast.Error as error:
        lines.append(f"no CUDA: {error.what}")
    try:
        lines.append(f"host: {diecast.device_info('host')['target']}")
    except diecast.Error as error:
        lines.append(f"no host device: {error.what}")
    lines.append(f"cache: {diecast.runtime().cache_state()}")
    packages = ("torch", "jax", "cupy-cuda12x", "cupy-cuda13x", "numpy", "ml-dtypes",
                "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
    lines += [f"{package} {_version(package)}" for package in packages]
    lines += [f"{name}={value}" for name, value in sorted(os.environ.items())
              if name.startswith("DIECAST_")]
    return lines + _doctor()


def main():
    """Runs the command that the package has; its exit code is ours."""
    if sys.argv[1:] == ["env"]:
        print("\n".join(environment()))
        return 0
    command = _command()
    if not os.path.exists(command):
        print("diecast: this package was built without the diecast command\n"
              "  fix: install libcli11-dev and build the package again", file=sys.stderr)
        return 2
    os.execv(command, ["diecast", *sys.argv[1:]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
