#!/usr/bin/env python3
"""Draws recall against queries per second from a result of the bench, as SVG.

usage: plot.py RESULT.tsv OUT.svg TITLE

Standard library only.  QPS has a logarithmic scale; recall is drawn by what is
missing (1 - recall), logarithmic too, so that 0.99 and 0.999 are apart.
"""
import math
import sys

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 130, 40, 50
COLOURS = {"hnsw": "#c0504d", "ivfflat": "#9a7a1f", "ann IVF": "#1f5fa8",
           "ann": "#1f5fa8", "ann flat": "#2f8f4e"}
NAMES = {"hnsw": "pgvector hnsw", "ivfflat": "pgvector ivfflat",
         "ann": "vector_ext", "ann IVF": "vector_ext, lists",
         "ann flat": "vector_ext, flat"}
RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99, 0.999)


def read(path):
    """{method: [(recall, qps)]} of the search table."""
    cells = {}
    with open(path) as lines:
        for line in lines:
            table, method, setting, column, value = line.rstrip("\n").split("\t")
            if table == "search" and column in ("recall@10", "QPS"):
                cells.setdefault((method, setting), {})[column] = value
    methods = {}
    for (method, setting), row in cells.items():
        if method in COLOURS and "probes" not in setting.split(".")[0] \
                and not (method.startswith("ann") and "probes" in setting):
            methods.setdefault(method, []).append(
                (float(row["recall@10"]), float(row["QPS"])))
    return {m: sorted(points) for m, points in methods.items()}


class Scale:
    def __init__(self, low, high, start, end):
        self.low, self.high = math.log10(low), math.log10(high)
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def text(x, y, words, anchor="middle", size=12, colour="#333"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-size="{size}" fill="{colour}">{words}</text>')


def line(x1, y1, x2, y2):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            'stroke="#ddd"/>')


def axes(x, y, decades):
    parts = []
    for recall in RECALLS:
        at = x.at(1 - recall)
        parts += [line(at, TOP, at, HEIGHT - BOTTOM),
                  text(at, HEIGHT - BOTTOM + 18, f"{recall:g}")]
    for power in decades:
        for step in (1, 2, 5):
            qps = step * 10 ** power
            if y.low <= math.log10(qps) <= y.high:
                parts += [line(LEFT, y.at(qps), WIDTH - RIGHT, y.at(qps)),
                          text(LEFT - 8, y.at(qps) + 4, f"{qps:g}", "end")]
    parts += [text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "recall@10"),
              text(LEFT - 8, TOP - 12, "queries/s", "end")]
    return parts


def curve(method, points, x, y):
    colour = COLOURS[method]
    places = [(x.at(max(1 - r, 2e-4)), y.at(q)) for r, q in points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour}" '
             'stroke-width="2"/>']
    parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>'
              for a, b in places]
    parts.append(text(places[-1][0] + 8, places[-1][1] + 4, NAMES[method],
                      "start", 12, colour))
    return parts


def main():
    path, out, title = sys.argv[1:4]
    methods = read(path)
    rates = [q for points in methods.values() for _, q in points]
    x = Scale(0.25, 2e-4, LEFT, WIDTH - RIGHT)
    y = Scale(min(rates) / 1.3, max(rates) * 1.3, HEIGHT - BOTTOM, TOP)
    decades = range(math.floor(y.low), math.ceil(y.high) + 1)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{HEIGHT}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             text((LEFT + WIDTH - RIGHT) / 2, 20, title, size=14)]
    parts += axes(x, y, decades)
    for method, points in methods.items():
        parts += curve(method, points, x, y)
    with open(out, "w") as file:
        file.write("\n".join(parts + ["</svg>"]) + "\n")


if __name__ == "__main__":
    main()
