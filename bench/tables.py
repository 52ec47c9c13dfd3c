"""Tables of results: Markdown for people, CSV for programs; and the targets."""
import csv
import re

CSV_COLUMNS = ["question", "extension", "setting", "recall", "metric", "value",
               "unit"]
# The last word of a column's title, where it is a unit.
UNITS = {"s", "ms", "KB", "MB", "GB/s", "MB/s", "rows/s", "bytes/row", "1/s"}
RECALL = "recall@10"
EXTENSIONS = {"hnsw": "pgvector", "ivfflat": "pgvector", "ann": "vector_ext",
              "faiss": "faiss", "hnswlib": "hnswlib"}


class Table:
    """Rows of cells; the first columns, so many as names, say what a row is."""

    def __init__(self, title, columns, notes=(), names=2):
        self.title, self.columns, self.notes = title, columns, list(notes)
        self.names = names
        self.rows = []

    def add(self, *values):
        row = ["" if v is None else str(v) for v in values]
        # The work of a search says nothing without its recall.
        if RECALL in self.columns and not row[self.columns.index(RECALL)]:
            raise ValueError(f"a search without recall: {row}")
        self.rows.append(row)

    def markdown(self):
        lines = [f"## {self.title}", "", row_text(self.columns),
                 row_text(["-"] * len(self.columns))]
        lines += [row_text(row) for row in self.rows] + [""]
        lines += [note + "\n" for note in self.notes]
        return "\n".join(lines)

    def csv_rows(self):
        question = self.title.split(":")[0].lower()
        for row in self.rows:
            cells = dict(zip(self.columns, row))
            recall = cells.get(RECALL, "")
            for column in self.columns[self.names:]:
                if column != RECALL and cells[column]:
                    name, unit = metric(column)
                    yield [question, extension_of(row[:self.names]),
                           "; ".join(row[:self.names]), recall, name,
                           cells[column], unit]


def metric(column):
    words = column.rsplit(" ", 1)
    if len(words) == 2 and words[1] in UNITS:
        return words
    return [column, words[-1] if words[-1] in UNITS else ""]


def extension_of(names):
    for name in names:
        if name in ("pgvector", "vector_ext"):
            return name
        if name.split(" ")[0] in EXTENSIONS:
            return EXTENSIONS[name.split(" ")[0]]
    return ""


def write_csv(path, tables):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for table in tables:
            writer.writerows(table.csv_rows())


def row_text(cells):
    return "| " + " | ".join(cells) + " |"


def digits(value, significant=3):
    """A number for a table: three digits that say something."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (significant - 1):
        return f"{value:.0f}"
    return re.sub(r"e.*", "", f"{value:.{significant}g}") \
        if abs(value) >= 0.001 else f"{value:.5f}"


class Targets:
    """What is wanted, what was measured."""

    def __init__(self):
        self.table = Table("Targets: what is wanted of vector_ext",
                           ["what", "wanted", "measured", "verdict"], names=1)

    def add(self, what, relation, value, wanted, met):
        by = value / wanted if relation == "≥" else wanted / value
        self.table.add(what, f"{relation} {digits(wanted)}",
                       f"{value:.4f}" if wanted < 1 else digits(value),
                       "met" if met else f"MISSED ({by:.3f} of it)")

    def at_least(self, what, value, wanted):
        self.add(what, "≥", value, wanted, value >= wanted)

    def at_most(self, what, value, wanted):
        self.add(what, "≤", value, wanted, value <= wanted)

    def not_measured(self, what, why):
        self.table.add(what, "", "", f"not measured: {why}")
