// A headless browser for the tests of pages: what it logs, what it asks the network for, and what axe-core finds.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What takes longer than this, even on a machine with other work to do, does not come any more. */
const PATIENCE_MS = 60_000;

/** A screen as wide as those most reports are read on. */
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

/** A browser that talks to nobody by itself; the caller closes it. */
export function launch() {
  const executablePath = CHROMIUM.find((path) => existsSync(path));
  if (!executablePath) {
    throw new Error(`no browser: none of ${CHROMIUM.join(", ")} exists`);
  }
  const quiet = ["background-networking", "component-update", "default-apps", "domain-reliability", "extensions",
    "gpu", "quic", "sync"].map((what) => `--disable-${what}`);
  return puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--no-first-run", ...quiet], timeout: PATIENCE_MS });
}

/**
 * Opens a page and watches it.
 *
 * `viewport`: DESKTOP or PHONE; `dark`: the reader's choice of colours; `javascript`: whether it may run;
 * `cookies`: what the browser already has for that host, as name and value.
 * `errors` and `requests` of the answer grow while the page is open.
 */
export async function open(browser, url, { viewport = DESKTOP, dark = false, javascript = true, cookies = [] } = {}) {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.setViewport(viewport);
  await page.setJavaScriptEnabled(javascript);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  const errors = [];
  const requests = [];
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => requests.push(request.url()));
  const place = { domain: new URL(url).hostname, path: "/" };
  await page.browserContext().setCookie(...cookies.map((cookie) => ({ ...place, ...cookie })));
  await page.goto(url, { waitUntil: "load" });
  return { page, errors, requests };
}

/** The requests that went elsewhere than to `url` itself or, where that has a host, to its host. */
export function strangers(requests, url) {
  const home = new URL(url);
  const same = (asked) => (home.host ? asked.host === home.host : asked.href === home.href);
  return requests.filter((request) => !request.startsWith("data:") && !same(new URL(request)));
}

/** What axe-core finds serious or critical, a line each; it works within a page's content security policy. */
export async function seriousFindings(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return serious.flatMap(({ id, help, nodes }) => nodes.map(({ target }) => `${id}: ${help}: ${target.join(" ")}`));
}

/** The text of a page as it is read, folded figures and hidden drawings included, one space between words. */
export function textOf(page, selector = "body") {
  return page.$eval(selector, (element) => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll("script, style").forEach((code) => code.remove());
    return copy.textContent.replace(/\s+/g, " ").trim();
  });
}

/** Waits until `holds`, a function that runs in the page, answers true; fails with `what` after a minute. */
export async function until(page, what, holds, ...args) {
  // Not page.waitForFunction: that evaluates text in the page, which a content security policy refuses.
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((wake) => setTimeout(wake, 50))) {
    if (await page.evaluate(holds, ...args)) {
      return;
    }
  }
  throw new Error(`not so within a minute: ${what}`);
}
