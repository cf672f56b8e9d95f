"""Draws what linear_beside.py printed: python linear_picture.py RUN.txt PICTURE.svg. A panel for each weight:
microseconds over rows, both in powers of two, of diecast, Humming, cuBLAS in bf16, and the floor of bytes.
"""

import math
import re
import sys

WIDE, HIGH, EDGE = 460, 340, 48
COLORS = {"diecast": "#0b6e4f", "humming": "#c44900", "cublas": "#3d5a98", "floor": "#999999"}


def panel(title, rows, left, top):
    """The lines of one weight."""
    most_m = max(row["m"] for row in rows)
    times = [row[of] for row in rows for of in COLORS if of in row]
    low, high = math.floor(math.log2(min(times))), math.ceil(math.log2(max(times)))

    def place(m, us):
        x = left + EDGE + math.log2(m) / max(math.log2(most_m), 1) * (WIDE - 2 * EDGE)
        return x, top + HIGH - EDGE - (math.log2(us) - low) / max(high - low, 1) * (HIGH - 2 * EDGE)

    out = [f'<text x="{left + EDGE}" y="{top + 30}" font-weight="bold">{title}</text>']
    for power in range(low, high + 1):
        x, y = place(1, 2**power)
        out.append(f'<path d="M{x:.1f} {y:.1f}h{WIDE - 2 * EDGE}" stroke="#ddd"/>'
                   f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{2**power:g}</text>')
    for m in sorted({row["m"] for row in rows}):
        if m & (m - 1) == 0:
            x, y = place(m, 2**low)
            out.append(f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{m}</text>')
    for name, color in COLORS.items():
        points = [place(row["m"], row[name]) for row in rows if name in row]
        if points:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
    return out


def dense_rows(text):
    """The dense rows of a run's table, by their weight. A time may be left out: its column is empty."""
    weights, ends = {}, {}
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["form"]:
            ends = {word.group(): word.end() for word in re.finditer(r"\S+", line)}
        if words[:1] == ["dense"] and "WRONG:" not in words:
            times = {name: line[ends[name] - 10:ends[name]].strip() for name in COLORS}
            row = {"m": int(words[2])} | {name: float(time) for name, time in times.items() if time}
            weights.setdefault(words[1], []).append(row)
    return weights


def picture(text):
    """The SVG of a run's dense rows."""
    weights = dense_rows(text)
    height = (len(weights) + 1) // 2 * HIGH + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDE}" height="{height}" font-family="sans-serif" '
           'font-size="11"><rect width="100%" height="100%" fill="white"/>']
    for i, (weight, of) in enumerate(weights.items()):
        out += panel(f"{weight}: microseconds over rows", of, i % 2 * WIDE, i // 2 * HIGH)
    drawn = [name for name in COLORS if any(name in row for of in weights.values() for row in of)]
    for i, name in enumerate(drawn):
        out.append(f'<text x="{EDGE + 90 * i}" y="{height - 10}" fill="{COLORS[name]}">{name}</text>')
    return "\n".join([*out, "</svg>\n"])


def main():
    """Reads the run, writes the picture."""
    if len(sys.argv) != 3:
        sys.exit("usage: python linear_picture.py RUN.txt PICTURE.svg")
    with open(sys.argv[1], encoding="utf-8") as file:
        drawn = picture(file.read())
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(drawn)


if __name__ == "__main__":
    main()
