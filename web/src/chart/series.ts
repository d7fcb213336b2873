import type uPlot from "uplot";
import type { Chart, ChartLine, ChartPanel } from "./contract";
import type { Palette } from "./palette";

/** A line is drawn as five series: its values, the ends of their intervals, and the ends of what they are means of. */
const PER_LINE = 5;
/** A chart with at most this many points is a sweep: each was measured separately and has a dot and vertical strokes. */
const FEW = 24;

/** Whether the chart shows a few points, each measured separately, rather than a course. */
export function isSweep(chart: Chart): boolean {
  return chart.x.logarithmic && chart.at.length <= FEW;
}

/** The numbers of the series that draw a line. */
export function seriesOf(line: number): number[] {
  return Array.from({ length: PER_LINE }, (_, part) => 1 + PER_LINE * line + part);
}

export function data(chart: Chart, panel: ChartPanel): uPlot.AlignedData {
  const filled = (list: (number | null)[]) => chart.at.map((_, place) => list[place] ?? null);
  const lists = panel.lines.flatMap((line) => [line.values, line.low, line.high, line.least, line.most]);
  return [chart.at, ...lists.map(filled)];
}

export function series(chart: Chart, panel: ChartPanel, palette: Palette): uPlot.Series[] {
  return [{}, ...panel.lines.flatMap((line) => lineWithEnds(chart, line, palette))];
}

function lineWithEnds(chart: Chart, line: ChartLine, palette: Palette): uPlot.Series[] {
  const stroke = () => palette.line(line.class);
  const fill = line.dashed ? () => palette.named("--paper") : stroke;
  const sweep = isSweep(chart);
  const values: uPlot.Series = {
    stroke,
    width: sweep ? 2 : 1.5,
    // In a course, a value between two gaps is a dot, because no line leads to it.
    points: { fill, ...(sweep ? { show: true, size: 7 } : { size: 5 }) },
    // For curves, other lines have points between those of this one; in a course nothing was measured there.
    spanGaps: chart.x.logarithmic,
    ...(line.dashed ? { dash: [7, 5] } : {}),
  };
  const end: uPlot.Series = { points: { show: false } };
  return [values, ...Array.from({ length: PER_LINE - 1 }, () => end)];
}

/** For a course, the areas between the ends of the intervals; a sweep has strokes instead. */
export function intervals(chart: Chart, panel: ChartPanel, palette: Palette): uPlot.Band[] {
  return panel.lines.flatMap((line, number) => {
    const [, low, high] = seriesOf(number);
    const known = !isSweep(chart) && line.low.length > 0 && line.high.length > 0;
    const fill = () => palette.area(line.class);
    return known && low && high ? [{ series: [high, low] as [number, number], fill }] : [];
  });
}

/** What marks the cursor on each line; the ends of intervals have no mark. */
export function marks(panel: ChartPanel, palette: Palette): uPlot.Cursor.Points {
  const line = (number: number) => panel.lines[Math.floor((number - 1) / PER_LINE)];
  const colour = (_: uPlot, number: number) => palette.line(line(number)?.class ?? "");
  return { size: (_, number) => ((number - 1) % PER_LINE === 0 ? 8 : 0), fill: colour, stroke: colour };
}
