import type uPlot from "uplot";
import type { ChartLine, ChartPanel } from "./contract";
import type { Palette } from "./palette";
import { seriesOf } from "./series";

/** Vertical strokes at the points of a sweep: broad and pale over all seconds, thin over the mean's confidence interval. */
export function strokes(panel: ChartPanel, palette: Palette): (plot: uPlot) => void {
  const shift = collide(panel.lines) ? SHIFT : 0;
  return (plot) => {
    panel.lines.forEach(({ class: name, low, high, least, most }, line) => {
      if (plot.series[seriesOf(line)[0] ?? 0]?.show) {
        const look = { shift: shift * (line - (panel.lines.length - 1) / 2), colour: palette.line(name) };
        stroke(plot, least, most, { width: 5, alpha: 0.22, cap: 0, ...look });
        stroke(plot, low, high, { width: 1.25, alpha: 1, cap: 3, ...look });
      }
    });
  };
}

type Ends = (number | null)[];

/** Whether the intervals of two lines would overlap. */
function collide(lines: ChartLine[]): boolean {
  const reach = (line: ChartLine | undefined, place: number): [number, number] => [
    line?.low[place] ?? Infinity,
    line?.high[place] ?? -Infinity,
  ];
  return lines.some((line, number) =>
    line.low.some((_, place) => {
      const [low, high] = reach(line, place);
      return lines.slice(number + 1).some((other) => reach(other, place)[0] <= high && low <= reach(other, place)[1]);
    }),
  );
}

/** The distance between the strokes of two lines, so that they do not overlap; pixels of the page. */
const SHIFT = 2;

/** Measures in pixels of the page; a cap is what ends a stroke to each side. */
interface Style {
  width: number;
  alpha: number;
  cap: number;
  /** How far it is to the right of its point. */
  shift: number;
  colour: string;
}

function stroke(plot: uPlot, low: Ends, high: Ends, style: Style): void {
  const { ctx, bbox } = plot;
  const at = Array.from(plot.data[0] ?? []);
  ctx.save();
  ctx.lineCap = "round";
  ctx.lineWidth = style.width * devicePixelRatio;
  ctx.globalAlpha = style.alpha;
  ctx.strokeStyle = style.colour;
  ctx.beginPath();
  at.forEach((x, place) => {
    const [from, to] = [low[place] ?? null, high[place] ?? null];
    const left = plot.valToPos(x ?? 0, "x", true) + style.shift * devicePixelRatio;
    if (from !== null && to !== null && left >= bbox.left && left <= bbox.left + bbox.width) {
      const [bottom, top] = [plot.valToPos(from, "y", true), plot.valToPos(to, "y", true)];
      ctx.moveTo(left, bottom);
      ctx.lineTo(left, top);
      for (const end of style.cap > 0 ? [bottom, top] : []) {
        ctx.moveTo(left - style.cap * devicePixelRatio, end);
        ctx.lineTo(left + style.cap * devicePixelRatio, end);
      }
    }
  });
  ctx.stroke();
  ctx.restore();
}
