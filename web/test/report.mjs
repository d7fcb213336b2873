// A report in a browser: `node web/test/report.mjs report.html short.html`. The pages are of one recording, the second made
// with --short, both with the script built in; there must be a chart with several lines.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { DESKTOP, PHONE, launch, open, seriousFindings, strangers, textOf, until } from "./browser.mjs";

const files = process.argv.slice(2);
if (files.length !== 2) {
  throw new Error("which reports? usage: report.mjs FILE SHORT");
}
const [url, short] = files.map((file) => pathToFileURL(resolve(file)).href);

let browser;
let pages = [];

before(async () => {
  browser = await launch();
});
after(() => browser.close());
afterEach(async () => {
  const opened = pages;
  pages = [];
  for (const { page, url, errors, requests } of opened) {
    assert.deepEqual(errors, [], "nothing is logged as an error");
    assert.deepEqual(strangers(requests, url), [], "no request leaves the page");
    await page.close();
  }
});

/** Opens a page; what it logs and requests is looked at when the test is over. */
async function opened(url, options) {
  const its = await open(browser, url, options);
  pages.push({ ...its, url });
  return its.page;
}

const folded = (options) => opened(url, options);

/** Opens the report and all of its folds. */
async function report(options) {
  const page = await folded(options);
  const folds = await page.$$("section.folded > details > summary");
  assert.ok(folds.length > 0, "the page has folds");
  for (const fold of folds) {
    await fold.click();
  }
  return page;
}

/** How many sheets of paper a page is printed on. */
async function sheetsOf(page) {
  const paper = Buffer.from(await page.pdf({ format: "A4", preferCSSPageSize: true })).toString("latin1");
  return paper.match(/\/Type\s*\/Page\b/g)?.length;
}

/** Opens it and draws every chart, which otherwise happens when they come near. */
async function drawn(options) {
  const page = await report(options);
  const figures = await page.$$("figure:has(> script.chart)");
  assert.ok(figures.length > 0, "the report has a chart");
  for (const figure of figures) {
    await figure.scrollIntoView();
    await until(page, "the figure is drawn", (figure) => figure.classList.contains("drawn"), figure);
  }
  return page;
}

/** What the canvases of the first figure that has `selector` show. */
const canvases = (page, selector) =>
  page.$eval(`figure:has(${selector})`, (figure) =>
    [...figure.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()).join(),
  );

/** Waits until they show something else than `before`, or that again. */
async function redrawn(page, selector, before, { same = false } = {}) {
  const holds = (selector, before, same) => {
    const all = [...document.querySelector(`figure:has(${selector})`).querySelectorAll("canvas")];
    return (all.map((canvas) => canvas.toDataURL()).join() === before) === same;
  };
  await until(page, same ? "the chart is as it was" : "the chart is drawn anew", holds, selector, before, same);
}

test("without JavaScript all content is there", async () => {
  const still = await report({ javascript: false });
  const figures = await still.$$eval("figure", (all) =>
    all.map((figure) => ({
      id: figure.id,
      drawn: [...figure.querySelectorAll(".drawing svg")].some((svg) => svg.getBoundingClientRect().height > 0),
      rows: figure.querySelectorAll("table tbody tr").length,
      caption: figure.querySelector("figcaption")?.textContent ?? "",
    })),
  );
  assert.ok(figures.length > 0, "the report has figures");
  for (const { id, drawn, rows, caption } of figures) {
    const found = `figure ${id}: drawing ${drawn}, ${rows} rows behind it, “${caption}”`;
    assert.ok(drawn && rows > 0 && caption !== "", found);
  }
  const lively = await drawn();
  await lively.$$eval(".chart:is(div)", (charts) => charts.forEach((chart) => chart.remove()));
  assert.equal(await textOf(lively), await textOf(still), "the script adds charts and takes nothing away");
});

test("one cursor moves over all panels and figures of an axis", async () => {
  const page = await drawn();
  const charts = await page.$$eval("figure > script.chart", (all) => all.map((data) => JSON.parse(data.textContent)));
  const plot = await page.$("div.chart .u-over");
  await plot.scrollIntoView();
  await plot.hover();
  await until(page, "the values show", () => document.querySelector("div.chart .value").textContent !== "");
  const reading = await page.$eval("div.chart .reading", (shown) => shown.textContent);
  const x = Number(/[0-9.,]+/.exec(reading)[0].replaceAll(",", ""));
  const cursors = await page.$$eval("div.chart", (all) =>
    all.map((chart) => {
      const lines = [...chart.querySelectorAll(".u-cursor-x")];
      const places = lines.map((line) => new DOMMatrix(getComputedStyle(line).transform).e).filter((left) => left > 0);
      return { panels: places.length, places: new Set(places).size, read: !!chart.querySelector(".value:not(:empty)") };
    }),
  );
  charts.forEach((chart, number) => {
    const same = JSON.stringify(chart.x) === JSON.stringify(charts[0].x);
    const reached = same && chart.at[0] <= x && x <= chart.at.at(-1);
    const expected = reached
      ? { panels: chart.panels.length, places: 1, read: true }
      : { panels: 0, places: 0, read: false };
    assert.deepEqual(cursors[number], expected, `chart ${number}, cursor at ${x}`);
  });
  await page.mouse.move(0, 0);
  await until(page, "the cursor leaves", () => !document.querySelector("div.chart .value:not(:empty)"));
});

test("arrow keys move the cursor", async () => {
  const page = await drawn();
  const reading = () => page.$eval("div.chart .reading", (shown) => shown.textContent);
  await page.focus("div.chart");
  await page.keyboard.press("ArrowRight");
  const first = await reading();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await reading(), first);
  await page.keyboard.press("ArrowLeft");
  assert.equal(await reading(), first);
});

test("keys lead to the ends and zoom, and what is under the cursor is read out", async () => {
  const page = await drawn();
  const chart = "div.chart";
  const reading = () => page.$eval(`${chart} .reading`, (shown) => shown.textContent);
  const live = () => page.$eval(`${chart} .reading`, (shown) => shown.getAttribute("aria-live"));
  const whole = await canvases(page, chart);
  assert.equal(await live(), "off");
  await page.focus(chart);
  await page.keyboard.press("End");
  const last = await reading();
  await page.keyboard.press("Home");
  assert.notEqual(await reading(), last);
  assert.equal(await live(), "polite");
  await page.keyboard.press("+");
  await redrawn(page, chart, whole);
  // More than is there is not shown.
  for (const key of ["-", "-", "-"]) {
    await page.keyboard.press(key);
  }
  await redrawn(page, chart, whole, { same: true });
  assert.ok(await page.$eval(`${chart} .reset`, (button) => button.disabled), "nothing is zoomed");
});

test("buttons hide lines and show them again, by pointer and by key", async () => {
  const page = await drawn();
  const toggle = "button[aria-pressed]";
  const whole = await canvases(page, toggle);
  const button = await page.$(toggle);
  await button.click();
  await redrawn(page, toggle, whole);
  assert.equal(await button.evaluate((it) => it.getAttribute("aria-pressed")), "false");
  await button.focus();
  await page.keyboard.press("Space");
  await redrawn(page, toggle, whole, { same: true });
  assert.equal(await button.evaluate((it) => it.getAttribute("aria-pressed")), "true");
});

test("dragging zooms; the button, Escape and a double click show everything again", async () => {
  const page = await drawn();
  const chart = "div.chart";
  const plot = await page.$(`${chart} .u-over`);
  const whole = await canvases(page, chart);
  const reset = await page.$(`${chart} .reset`);
  const undo = [() => reset.click(), () => page.keyboard.press("Escape"), () => plot.click({ count: 2 })];
  for (const back of undo) {
    await plot.scrollIntoView();
    const { x, y, width, height } = await plot.boundingBox();
    await page.mouse.move(x + 0.3 * width, y + 0.5 * height);
    await page.mouse.down();
    await page.mouse.move(x + 0.6 * width, y + 0.5 * height, { steps: 5 });
    await page.mouse.up();
    await redrawn(page, chart, whole);
    assert.ok(await reset.isVisible(), "zoomed, the button is seen");
    await back();
    await redrawn(page, chart, whole, { same: true });
    assert.ok(!(await reset.isVisible()), "it goes with the zoom");
  }
});

test("charts follow a change to dark colours and the width of the window", async () => {
  const page = await drawn();
  const light = await canvases(page, "div.chart");
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await redrawn(page, "div.chart", light);
  await page.setViewport({ ...DESKTOP, width: 700 });
  await until(page, "no chart is wider than the window", () => {
    const canvases = [...document.querySelectorAll("div.chart canvas")];
    return canvases.every((canvas) => canvas.getBoundingClientRect().right <= innerWidth);
  });
});

test("folded, it is short on the screen and has two sheets on paper", async () => {
  const page = await folded();
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height <= 2500, `the page is ${height} pixels high`);
  const sheets = await sheetsOf(page);
  assert.ok(sheets <= 2, `it is printed on ${sheets} sheets`);
});

test("the short one has one sheet", async () => {
  assert.equal(await sheetsOf(await opened(short)), 1);
});

test("on paper the drawings are there instead of the charts", async () => {
  const page = await drawn();
  const shown = () =>
    page.$$eval("figure.drawn", (all) => {
      const height = (figure, part) => figure.querySelector(part).getBoundingClientRect().height;
      return all.map((figure) => [".drawing", "div.chart"].map((part) => height(figure, part) > 0));
    });
  assert.ok((await shown()).every(([drawing, chart]) => !drawing && chart), "charts on the screen");
  await page.emulateMediaType("print");
  assert.ok((await shown()).every(([drawing, chart]) => drawing && !chart), "drawings on paper");
});

for (const javascript of [true, false]) {
  test(`a phone scrolls downwards only, JavaScript ${javascript ? "on" : "off"}`, async () => {
    const page = javascript ? await drawn({ viewport: PHONE }) : await report({ viewport: PHONE, javascript });
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(beyond <= 0, `the page is ${beyond} pixels wider than the screen`);
  });
}

for (const [name, options] of Object.entries({ light: {}, dark: { dark: true }, phone: { viewport: PHONE } })) {
  test(`axe-core finds nothing serious: ${name}`, async () => {
    const page = await drawn(options);
    await page.$$eval("details", (all) => all.forEach((details) => (details.open = true)));
    assert.deepEqual(await seriousFindings(page), []);
  });
}
