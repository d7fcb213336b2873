import type uPlot from "uplot";
import type { Mark } from "./contract";
import type { Palette } from "./palette";

type Place = [left: number, top: number];

const DRAWN: Record<Mark["kind"], (plot: uPlot, at: Place, name: string, palette: Palette) => void> = {
  knee,
  peak,
  disturbed: cross,
};

export function marks(all: Mark[], palette: Palette): (plot: uPlot) => void {
  return (plot) => {
    for (const { x, y, name, kind } of all.filter((mark) => inView(plot, mark.x))) {
      DRAWN[kind](plot, place(plot, x, y), name, palette);
    }
  };
}

/** Labels the highest point of the first line, unless that is hidden: in a sweep over loads it is the answer. */
function peak(plot: uPlot, [left, top]: Place, name: string, palette: Palette): void {
  if (plot.series[1]?.show) {
    text(plot, name, [left, top - 12 * devicePixelRatio], palette);
  }
}

/** Draws the load line on a ship's hull: a circle with a line through it, and a guide down to the axis. */
function knee(plot: uPlot, [left, top]: Place, name: string, palette: Palette): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const foot = bbox.top + bbox.height;
  ctx.save();
  ctx.strokeStyle = palette.named("--ink");
  ctx.lineWidth = 2 * ratio;
  ctx.beginPath();
  ctx.arc(left, top, 7 * ratio, 0, 2 * Math.PI);
  ctx.moveTo(left - 13 * ratio, top);
  ctx.lineTo(left + 13 * ratio, top);
  ctx.stroke();
  ctx.strokeStyle = palette.named("--soft");
  ctx.lineWidth = ratio;
  ctx.setLineDash([2 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(left, top + 7 * ratio);
  ctx.lineTo(left, foot);
  ctx.stroke();
  ctx.restore();
  text(plot, name, [left, foot - 6 * ratio], palette, 400);
}

/** Strikes out a load point. */
function cross({ ctx }: uPlot, [left, top]: Place, _: string, palette: Palette): void {
  const reach = 7 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = palette.named("--ink");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  for (const side of [-1, 1]) {
    ctx.moveTo(left - reach, top - side * reach);
    ctx.lineTo(left + reach, top + side * reach);
  }
  ctx.stroke();
  ctx.restore();
}

/** A point of the plot in pixels of the canvas. */
function place(plot: uPlot, x: number, y: number): Place {
  return [plot.valToPos(x, "x", true), plot.valToPos(y, "y", true)];
}

function inView(plot: uPlot, x: number): boolean {
  const { min = -Infinity, max = Infinity } = plot.scales.x ?? {};
  return min <= x && x <= max;
}

/** Text above a point, within the plot, with a margin that keeps lines off it. */
function text(plot: uPlot, shown: string, [middle, bottom]: [number, number], palette: Palette, weight = 600): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = palette.font(weight > 400 ? 13 : 12, weight);
  ctx.textAlign = "left";
  ctx.textBaseline = "bottom";
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.lineJoin = "round";
  ctx.strokeStyle = palette.named("--paper");
  ctx.fillStyle = palette.named("--ink");
  const width = ctx.measureText(shown).width;
  const left = Math.min(Math.max(middle - width / 2, bbox.left), bbox.left + bbox.width - width);
  ctx.strokeText(shown, left, bottom);
  ctx.fillText(shown, left, bottom);
  ctx.restore();
}
