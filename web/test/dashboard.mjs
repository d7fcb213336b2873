// The dashboard in a headless browser: `node dashboard.mjs URL`, with two recordings that have ended and a lab that
// runs.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { launch, open, PHONE, seriousFindings, strangers, textOf, until } from "./browser.mjs";

const [url, pictures] = process.argv.slice(2);
if (!url) {
  throw new Error("node dashboard.mjs URL [DIRECTORY of screenshots]");
}
const browser = await launch();

/** Opens a page, does `what` there, and checks what holds of every page; a picture of it where some are wanted. */
async function on(path, name, what, options = {}) {
  const { page, errors, requests } = await open(browser, new URL(path, url).href, options);
  await what(page);
  const scripted = options.javascript ?? true;
  if (scripted) {
    assert.deepEqual(await seriousFindings(page), [], `${name}: accessibility`);
  }
  if (pictures) {
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/dashboard-${name}.png`, fullPage: true });
  }
  assert.deepEqual(errors, [], `${name}: errors in the console`);
  assert.deepEqual(strangers(requests, url), [], `${name}: requests to others`);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(wider <= 0, `${name}: the page is ${wider} px wider than the screen`);
  await page.close();
}

/** What people find first: everything, and what they search. */
async function history(page) {
  assert.match(await textOf(page), /Running now/);
  assert.ok((await page.$$("tbody tr")).length >= 2, "two recordings that have ended");
  const id = await page.$eval("tbody tr:last-child input", (box) => box.value);
  await page.type("#q", id);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.equal((await page.$$("tbody tr")).length, 1, "the one whose id was searched");
  await page.$eval("#q", (field) => (field.value = "no such recording"));
  await Promise.all([page.waitForNavigation(), page.$eval("form.search", (form) => form.submit())]);
  assert.match(await textOf(page), /0 recordings/);
}

/** Two are picked, by the keyboard alone. */
async function comparing(page) {
  const button = () => page.$eval(".picking button", (found) => found.disabled);
  assert.equal(await button(), true, "nothing is picked");
  const boxes = await page.$$("input[name=pick]");
  await boxes[0].focus();
  await page.keyboard.press("Space");
  assert.equal(await button(), true, "one is picked");
  assert.match(await textOf(page, ".picked"), /1 picked/);
  await boxes[1].focus();
  await page.keyboard.press("Space");
  await until(page, "the button is there for two", () => !document.querySelector(".picking button").disabled);
  await page.focus(".picking button");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.match(new URL(page.url()).pathname, /^\/compare$/);
  assert.ok(await page.$("select#a"), "the sides can be chosen anew");
}

/** The numbers change without the page being loaded again. */
async function live(page) {
  await page.evaluate(() => (window.stillHere = true));
  const now = await textOf(page, "#state");
  assert.match(now, /Phase.*Trial.*Time left/);
  const changed = (before) => document.querySelector("#state").textContent.replace(/\s+/g, " ").trim() !== before;
  await until(page, "the state changes", changed, now);
  await until(page, "a throughput is drawn", () => document.querySelector("#charts polyline"));
  assert.equal(await page.evaluate(() => window.stillHere), true, "it was not loaded again");
}

/** Nobody gets in by the bare address; the link opens it, and takes the token out of the address. */
async function opening() {
  const bare = new URL("/", url).href;
  const stranger = await browser.newPage();
  const refused = await stranger.goto(bare);
  assert.equal(refused.status(), 401);
  assert.match(await textOf(stranger, "body"), /open the link that `plimsoll serve` printed/);
  await stranger.close();
  const { page } = await open(browser, url);
  assert.equal(page.url(), bare, "no token in the address");
  await page.close();
}
await opening();

const runs = await (async () => {
  const { page } = await open(browser, url);
  const path = await page.$eval(".running a", (link) => new URL(link.href).pathname);
  const report = await page.$eval("tbody .title", (link) => new URL(link.href).pathname);
  await page.close();
  return { path, report };
})();

try {
  await on(runs.path, "live", live);
  const plain = async (page) => assert.match(await textOf(page), /What comes next/);
  await on(runs.path, "live-plain", plain, { javascript: false });
  await on("/", "history", async () => {});
  await on("/", "search", history);
  await on("/", "compare", comparing);
  await on(runs.report, "report", async (page) => assert.ok(await page.$("h1, .answer")));
  await on("/", "history-dark", async () => {}, { dark: true });
  await on(runs.path, "live-dark", async () => {}, { dark: true });
  await on("/", "history-phone", async () => {}, { viewport: PHONE });
  await on(runs.path, "live-phone", async () => {}, { viewport: PHONE });
  console.log("the dashboard is as it should be");
} finally {
  await browser.close();
}
