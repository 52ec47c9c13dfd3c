#!/usr/bin/env python3
"""Draws the results of a run of the bench, as SVG.

usage: plot.py RESULT.csv OUT TITLE

OUT-recall.svg   queries per second against recall, one client
OUT-build.svg    time of CREATE INDEX and size of the index
OUT-latency.svg  percentiles of latency by clients, and in the open loop

A file is written where the run has the figures.  Standard library only.
"""
import csv
import math
import sys

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 130, 40, 50
METHODS = {"ann IVF": ("vector_ext", "#1f5fa8"),
           "ann flat": ("vector_ext, flat", "#2f8f4e"),
           "hnsw": ("pgvector hnsw", "#c0504d"),
           "ivfflat": ("pgvector ivfflat", "#9a7a1f"),
           "faiss IVF+PQ+refine": ("faiss, in process", "#8064a2"),
           "hnswlib": ("hnswlib, in process", "#7f7f7f")}
RECALLS = (0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
SHADES = {"p50": 1.0, "p95": 0.55, "p99": 0.25}


def read(path):
    """{question: {setting: {metric: value}}}; recall is a metric too."""
    questions = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            metrics = questions.setdefault(row["question"], {}).setdefault(
                row["setting"], {})
            metrics[row["metric"]] = row["value"]
            if row["recall"]:
                metrics["recall"] = float(row["recall"])
    return questions


class Scale:
    """Logarithmic: numbers from low to high are drawn from start to end."""

    def __init__(self, low, high, start, end):
        self.low, self.high = math.log10(low), math.log10(high)
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        for power in range(math.floor(self.low), math.ceil(self.high) + 1):
            for step in (1, 2, 5):
                if self.low <= math.log10(step) + power <= self.high:
                    yield step * 10 ** power


def text(x, y, words, anchor="middle", size=12, colour="#333"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-size="{size}" fill="{colour}">{words}</text>')


def line(x1, y1, x2, y2):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            'stroke="#ddd"/>')


def box(x, y, width, height, colour, opacity=1.0):
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" fill="{colour}" opacity="{opacity}"/>')


def write(path, title, parts):
    with open(path, "w") as file:
        file.write("\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
            f'height="{HEIGHT}" font-family="sans-serif">',
            box(0, 0, WIDTH, HEIGHT, "#fff"),
            text(WIDTH / 2, 20, title, size=14), *parts, "</svg>"]) + "\n")
    print(path)


def rates(scale, unit):
    """The vertical axis."""
    parts = [text(LEFT - 8, TOP - 12, unit, "end")]
    for tick in scale.ticks():
        parts += [line(LEFT, scale.at(tick), WIDTH - RIGHT, scale.at(tick)),
                  text(LEFT - 8, scale.at(tick) + 4, f"{tick:g}", "end")]
    return parts


# --- recall ------------------------------------------------------------------


def best(points):
    """Those that no other beats in both: a curve, not a cloud of settings."""
    kept = []
    for recall, qps in sorted(points, reverse=True):
        if not kept or qps > kept[-1][1]:
            kept.append((recall, qps))
    return kept[::-1]


def curve(method, points, x, y):
    name, colour = METHODS[method]
    places = [(x.at(max(1 - r, 2e-4)), y.at(q)) for r, q in points]
    path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    return [f'<polyline points="{path}" fill="none" stroke="{colour}" '
            'stroke-width="2"/>',
            *[f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{colour}"/>'
              for a, b in places],
            text(places[-1][0] + 8, places[-1][1] + 4, name, "start", 12,
                 colour)]


def draw_recall(questions, title):
    """Recall is drawn by what is missing, so that 0.99 and 0.999 are apart."""
    methods = {}
    for question in ("search", "reference"):
        for setting, row in questions.get(question, {}).items():
            method = setting.split("; ")[0]
            if method in METHODS and "vector_ext.probes" not in setting:
                methods.setdefault(method, []).append(
                    (row["recall"], float(row["QPS"])))
    all_ = [q for points in methods.values() for _, q in points]
    if not all_:
        return None
    x = Scale(0.25, 2e-4, LEFT, WIDTH - RIGHT)
    y = Scale(min(all_) / 1.3, max(all_) * 1.3, HEIGHT - BOTTOM, TOP)
    parts = rates(y, "queries/s")
    for recall in RECALLS:
        at = x.at(1 - recall)
        parts += [line(at, TOP, at, HEIGHT - BOTTOM),
                  text(at, HEIGHT - BOTTOM + 18, f"{recall:g}")]
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "recall@10"))
    for method, points in methods.items():
        parts += curve(method, best([p for p in points if p[0] >= 0.75]), x, y)
    return f"{title}: recall and queries per second, one client", parts


# --- bars --------------------------------------------------------------------


def bars(rows, left, width, heading, unit):
    """Horizontal bars of (label, colour, value), on a linear scale."""
    most = max(value for _, _, value in rows)
    step = min(44, (HEIGHT - TOP - 20) / len(rows))
    parts = [text(left, TOP + 2, heading, "start")]
    for i, (label, colour, value) in enumerate(rows):
        y = TOP + 22 + i * step
        length = max(1, value / most * (width - 60))
        parts += [text(left, y, label, "start", 11),
                  box(left, y + 4, length, min(14, step - 18), colour),
                  text(left + length + 6, y + 15, f"{value:.3g} {unit}",
                       "start", 11)]
    return parts


def draw_build(questions, title):
    times, sizes = [], {}
    for setting, row in questions.get("build", {}).items():
        method, how = setting.split("; ")
        name, colour = METHODS[method]
        memory, workers = how.split(", ")
        label = f"{name}, {memory}, {int(workers) + 1} processes" \
            if workers != "0" else f"{name}, {memory}"
        times.append((label, colour, float(row["time"])))
        sizes[method] = (name, colour, float(row["size"]))
    if not times:
        return None
    return (f"{title}: CREATE INDEX and size of the index",
            bars(times, 20, 340, "CREATE INDEX", "s") +
            bars(list(sizes.values()), 390, 240, "index", "MB"))


# --- latency -----------------------------------------------------------------


def groups_of_latency(questions):
    """[(caption, [(method, {percentile: ms})])]"""
    groups = {}
    for question in ("serve", "open loop"):
        for setting, row in questions.get(question, {}).items():
            method, how = setting.split("; ")
            what = how.rsplit(", ", 1)[1]
            caption = f"{what} client{'' if what == '1' else 's'}" \
                if question == "serve" else f"open, {what}"
            groups.setdefault(caption, []).append(
                (method, {p: float(row[p]) for p in SHADES}))
    return list(groups.items())


def draw_latency(questions, title):
    groups = groups_of_latency(questions)
    if not groups:
        return None
    all_ = [ms for _, rows in groups for _, shown in rows
            for ms in shown.values()]
    y = Scale(min(all_) / 1.5, max(all_) * 1.3, HEIGHT - BOTTOM, TOP)
    parts = rates(y, "ms")
    step = (WIDTH - LEFT - RIGHT) / len(groups)
    width = step / (max(len(rows) for _, rows in groups) + 0.5)
    floor, methods = HEIGHT - BOTTOM, []
    for i, (caption, rows) in enumerate(groups):
        parts.append(text(LEFT + (i + 0.5) * step, floor + 18, caption,
                          size=10))
        for j, (method, shown) in enumerate(sorted(rows)):
            x = LEFT + i * step + (j + 0.25) * width
            methods += [method] if method not in methods else []
            below = floor
            for percentile, shade in SHADES.items():
                top = y.at(shown[percentile])
                parts.append(box(x, top, width * 0.9, below - top,
                                 METHODS[method][1], shade))
                below = top
    for i, method in enumerate(methods):
        name, colour = METHODS[method]
        parts.append(text(WIDTH - RIGHT + 8, TOP + 20 * i, name, "start", 12,
                          colour))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12,
                      "p50 (dark), p95, p99 (light); closed loop, and open "
                      "loop by share of saturation"))
    return f"{title}: latency at equal recall", parts


def main():
    path, out, title = sys.argv[1:4]
    questions = read(path)
    for name, draw in (("recall", draw_recall), ("build", draw_build),
                       ("latency", draw_latency)):
        drawn = draw(questions, title)
        if drawn:
            write(f"{out}-{name}.svg", *drawn)


if __name__ == "__main__":
    main()
