import type uPlot from "uplot";
import type { Band } from "./contract";
import type { Palette } from "./palette";

/** Room above a plot for the names of phases, pixels. */
export const NAME_ROOM = 20;

/** Shades what was not measured, behind everything else. */
export function shade(bands: Band[], palette: Palette): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.fillStyle = palette.named("--tint");
    for (const band of bands.filter(({ measured }) => !measured)) {
      const { left, width } = seen(plot, band);
      ctx.fillRect(left, bbox.top, width, bbox.height);
    }
  };
}

/** Writes the name of each phase above the plot, if there is room for it. */
export function names(bands: Band[], palette: Palette): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.font = palette.font(11);
    ctx.fillStyle = palette.named("--soft");
    ctx.textBaseline = "bottom";
    ctx.textAlign = "left";
    for (const band of bands) {
      const { left, width } = seen(plot, band);
      if (ctx.measureText(band.name).width < width) {
        ctx.fillText(band.name, left, bbox.top - 4 * devicePixelRatio);
      }
    }
    ctx.restore();
  };
}

/** The part of a phase that is in view, in pixels of the canvas. */
function seen(plot: uPlot, band: Band): { left: number; width: number } {
  const { bbox } = plot;
  const left = Math.max(plot.valToPos(band.from, "x", true), bbox.left);
  const right = Math.min(plot.valToPos(band.to, "x", true), bbox.left + bbox.width);
  return { left, width: Math.max(0, right - left) };
}
