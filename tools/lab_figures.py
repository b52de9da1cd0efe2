#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables and pictures of what `weft lab --json` measured.

    tools/lab_figures.py RESULTS.jsonl [...] > table.md
    tools/lab_figures.py RESULTS.jsonl [...] --picture FILE.svg

Each file holds what one or more labs printed: an object for each strategy, and a summary behind
them. Runs that the lab called invalid are counted and left out; of several runs of the same the
last one is taken, and stderr says so. The picture is SVG, by gnuplot: a plot for each model, with
each strategy's time as a share of sequential's; without that a line is left out.

"middle half" is what lies between the quarter of the rounds that was quickest and the quarter that
was slowest, as a share of the median, of the strategy of the line for which it is widest; "rounds"
are those that counted, fewest and most of the line's strategies.
"""
import argparse
import json
import pathlib
import subprocess
import sys

STRATEGIES = ["sequential", "lbl", "ibatch", "dynacomm", "weave"]
COLOURS = {"sequential": "#9e9e9e", "lbl": "#80b1d3", "ibatch": "#fdb462", "dynacomm": "#4daf4a",
           "weave": "#e41a1c"}


def read(paths):
    """{(model, workers, shards, mbps): {strategy: result}}, how many were invalid, and the names of
    those that were measured more than once."""
    rows, invalid, again = {}, 0, []
    for path in paths:
        waiting = []
        for line in pathlib.Path(path).read_text().splitlines():
            found = json.loads(line)
            if not found.get("summary"):
                waiting.append(found)
                continue
            key = (found["model"], found["workers"], found["shards"], found["mbps"])
            row = rows.setdefault(key, {})
            for result in waiting:
                if not result["valid"]:
                    invalid += 1
                    continue
                if result["strategy"] in row:
                    again.append(f"{name(*key[:3])} at {key[3]:g} Mb/s by {result['strategy']}")
                row[result["strategy"]] = result
            waiting = []
        if waiting:
            sys.exit(f"{path}: the lab's last line, the summary, is missing")
    return dict(sorted(rows.items())), invalid, again


def name(model, workers, shards):
    if (workers, shards) == (1, 1):
        return model
    return (f"{model}, {workers} worker{'s' if workers > 1 else ''},"
            f" {shards} server{'s' if shards > 1 else ''}")


def seconds(result, key="iteration_ms"):
    if result is None or result.get(key) is None:
        return ""
    value = result[key] / 1e3
    return f"{value:.2f}" if value < 20 else f"{value:.1f}"


def ratio(over, under):
    return over["iteration_ms"] / under["iteration_ms"] if over and under else None


def widest(row):
    """The widest middle half of a line's strategies, in percent of their medians."""
    half, strategy = max((100 * (result["iteration_upper_ms"] - result["iteration_lower_ms"])
                          / result["iteration_ms"], strategy) for strategy, result in row.items())
    return f"{half:.1f} % ({strategy})"


def rounds(row):
    counts = [result["rounds_measured"] for result in row.values()]
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{counts[0]}"


def table(rows):
    lines = ["| model | Mb/s | sequential | lbl | ibatch | dynacomm | predicted | weave | weave / dynacomm"
             " | of its bound | of one direction alone | middle half, widest | rounds |",
             "|---|" + "---|" * 12]
    for (model, workers, shards, mbps), row in rows.items():
        if not row:
            continue
        dynacomm, weave = row.get("dynacomm"), row.get("weave")
        share = ratio(weave, dynacomm)
        cells = [name(model, workers, shards), f"{mbps:g}",
                 *(seconds(row.get(strategy)) for strategy in STRATEGIES[:4]),
                 seconds(dynacomm, "predicted_ms"), seconds(weave),
                 "" if share is None else f"{share:.2f}",
                 "" if weave is None else f"{weave['of_bound_percent']:.0f} %",
                 "" if share is None else f"{100 * dynacomm['bound_ms'] / weave['iteration_ms']:.0f} %",
                 widest(row), rounds(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def script(rows, path):
    """What gnuplot is given: a plot for each model, a group of bars for each rate."""
    rows = {key: row for key, row in rows.items() if "sequential" in row}
    models = sorted({key[:3] for key in rows})
    height = 60 + 230 * len(models)
    text = [f"set terminal svg noenhanced size 900,{height} font 'sans,11' background '#ffffff'",
            f"set output '{path}'",
            f"set multiplot layout {len(models)},1 title "
            "'time of an iteration over a real broker and an emulated link, sequential = 100 %'",
            "set style data histograms", "set style histogram clustered gap 1.5",
            "set style fill solid 1 border -1", "set boxwidth 0.9", "set yrange [0:115]",
            "set format y '%g %%'", "set grid y", "set bmargin 3", "set key outside right top vertical"]
    for model in models:
        rates = sorted(key[3] for key in rows if key[:3] == model)
        text.append("$bars << EOD")
        for mbps in rates:
            row = rows[(*model, mbps)]
            base = row.get("sequential")
            cells = [100 * ratio(row.get(strategy), base) if row.get(strategy) and base else "NaN"
                     for strategy in STRATEGIES]
            label = f"{mbps:g} Mb/s" + (f"\\n{seconds(base)} s" if base else "")
            text.append(f'"{label}" ' + " ".join(str(cell) for cell in cells))
        text.append("EOD")
        text.append(f"set title '{name(*model)}'")
        text.append("plot " + ", ".join(
            f"$bars using {column + 2}:xtic(1) title '{strategy}' lc rgb '{COLOURS[strategy]}'"
            for column, strategy in enumerate(STRATEGIES)))
    return "\n".join(text) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("results", nargs="+")
    arguments.add_argument("--picture", metavar="FILE.svg")
    chosen = arguments.parse_args()
    rows, invalid, again = read(chosen.results)
    if chosen.picture:
        subprocess.run(["gnuplot"], input=script(rows, chosen.picture), text=True, check=True)
    else:
        print(table(rows))
    for run in again:
        print(f"{run} was measured more than once; the last is taken", file=sys.stderr)
    if invalid:
        print(f"{invalid} runs were invalid and are left out", file=sys.stderr)


if __name__ == "__main__":
    main()
