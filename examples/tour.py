"""A tour of diecast from Python, on any machine: python examples/tour.py [PICTURE]

It quantizes drawn numbers in every format, prints and plots what each loses, runs a kernel template
of its own, and shows what the runtime did. It runs on this processor and needs no GPU. PICTURE, such
as tour.png, is drawn by matplotlib where that is installed; text shows the same without.
"""

import array
import os
import random
import sys

import diecast

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, COLS = 64, 1024
HOST = {"device": "host"}


def drawn():
    """Numbers as weights have them: near normal, with some large ones."""
    random.seed(1)
    values = (random.gauss(0, 1) * (8 if random.random() < 0.01 else 1)
              for _ in range(ROWS * COLS))
    return memoryview(array.array("f", values)).cast("B").cast("f", (ROWS, COLS))


def numbers(view):
    """A matrix's elements as one list."""
    return memoryview(bytes(view)).cast("f").tolist()


def formats(x):
    """Each format's name, bytes, and the matrix that comes back of it."""
    for name, options in (("NVFP4", {}), ("NVFP4, four over six",
                                          {"four_over_six": "mae", "e4m3_bound": 256}),
                          ("NVFP4, a scale a row", {"row_scaled": True})):
        data, scale, amax = diecast.quantize_nvfp4(x, **options, **HOST)
        read = {key: options[key] for key in ("row_scaled", "e4m3_bound") if key in options}
        yield name, data.nbytes + scale.nbytes, diecast.dequantize_nvfp4(
            data, scale, amax, dtype="f32", **read, **HOST)
    for format in ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"):
        data, scale = diecast.quantize_mx(x, format=format, profile="torchao", **HOST)
        yield format.upper(), data.nbytes + scale.nbytes, diecast.dequantize_mx(
            data, scale, format=format, dtype="f32", **HOST)


def bar(share, width=40):
    """A share of 1 as a bar."""
    return "#" * max(1, round(share * width))


def picture(rows, file):
    """Draws what each format loses, into a file."""
    try:
        from matplotlib import pyplot
    except ImportError:
        print("no picture: matplotlib is not installed (pip install matplotlib)")
        return
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    axes.barh([f"{name}, {bits:.2f} bits" for name, _, bits in rows], [loss for _, loss, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel("error, relative")
    figure.savefig(file)
    print(f"drawn into {file}")


def main():
    """The tour."""
    print(f"diecast {diecast.__version__} on {diecast.device_info('host')['target']}\n")
    x = drawn()
    plain = numbers(x)
    power = sum(value * value for value in plain)
    print("what each format loses (root of the mean square of the error, over that of the numbers):")
    rows = []
    for name, size, back in formats(x):
        error = sum((a - b) ** 2 for a, b in zip(plain, numbers(back)))
        rows.append((name, (error / power) ** 0.5, 8 * size / len(plain)))
    worst = max(loss for _, loss, _ in rows)
    for name, loss, bits in rows:
        print(f"  {name:22} {bits:5.2f} bits  {loss:.4f} {bar(loss / worst)}")
    if len(sys.argv) > 1:
        picture(rows, sys.argv[1])

    data, scale, amax = diecast.quantize_nvfp4(x, **HOST)
    codes = [0] * 8
    for byte in bytes(data):
        codes[byte & 7] += 1
        codes[byte >> 4 & 7] += 1
    print("\nhow often each magnitude of E2M1 is taken:")
    for value, count in zip((0, 0.5, 1, 1.5, 2, 3, 4, 6), codes):
        print(f"  {value:4} {100 * count / sum(codes):5.1f} % {bar(count / max(codes))}")

    kernel = diecast.kernel(os.path.join(HERE, "own_template", "scale_rows.cu"))
    factor = memoryview(array.array("f", [2.0] * ROWS))
    doubled = kernel(x, factor, **HOST)
    print(f"\n{kernel.name}: {len(kernel.variants(T='f32'))} variants of f32; the first doubles "
          f"{x[0, 0]:.3f} to {doubled[0, 0]:.3f}")
    counted = {name: count for name, count in diecast.runtime().counters().items() if count}
    print(f"the runtime: {counted}")


if __name__ == "__main__":
    main()
