import type { Chart } from "./chart/contract";
import { SharedAxis } from "./chart/shared";
import { ChartView } from "./chart/view";

/** Charts are drawn when they come so near to what is seen: a long report opens at once. */
const AHEAD = "800px";

/** Puts a chart in the place of a figure's drawing, which stays what is printed. */
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
