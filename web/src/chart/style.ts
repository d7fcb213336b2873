import drawing from "uplot/dist/uPlot.min.css?inline";
import own from "./chart.css?inline";

let adopted = false;

/** Gives the page the style of charts, once. A constructed sheet needs no `style-src` of the page's security policy. */
export function adoptStyle(): void {
  if (!adopted) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(drawing + own);
    document.adoptedStyleSheets.push(sheet);
    adopted = true;
  }
}
