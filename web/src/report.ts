import type { Chart } from "./chart/contract";
import { SharedAxis } from "./chart/shared";
import { ChartView } from "./chart/view";

/** Charts are drawn when they come this near to the visible part, so that a long report opens at once. */
const AHEAD = "800px";

/** Replaces a figure's drawing by a chart; the drawing is still what is printed. */
function draw(figure: Element): void {
  const data = figure.querySelector("script.chart");
  const drawing = figure.querySelector(".drawing");
  if (data?.textContent && drawing) {
    const chart: Chart = JSON.parse(data.textContent);
    new ChartView(drawing, chart);
    figure.classList.add("drawn");
  }
}

const near = new IntersectionObserver(
  (entries) => {
    for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
      near.unobserve(target);
      draw(target);
    }
  },
  { rootMargin: AHEAD },
);
document.querySelectorAll("figure:has(> script.chart)").forEach((figure) => near.observe(figure));
document.addEventListener("keydown", (event) => event.key === "Escape" && SharedAxis.showAll());
