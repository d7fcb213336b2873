// Numbers as the rest of the page writes them; see crates/model/src/number.rs.
import type { Axis } from "./contract";

const formats = new Map<number, Intl.NumberFormat>();

function grouped(value: number, most: number, least = 0): string {
  const key = 10 * most + least;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat("en", { maximumFractionDigits: most, minimumFractionDigits: least });
    formats.set(key, format);
  }
  return format.format(value).replace("-", "−");
}

/** About three significant digits, never fewer than all whole ones: `0.612`, `2.13`, `21.3`, `213`, `2,130`. */
export function short(value: number): string {
  const size = Math.abs(value);
  const decimals = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return grouped(value, decimals, decimals);
}

/** No more decimals than the number has: for ticks and positions on an axis. */
export function plain(value: number): string {
  return grouped(value, 6);
}

/** `ms, logarithmic`: what a number of the axis is, as the figure says it. */
export function scaleOf(axis: Axis): string {
  return [axis.unit, axis.logarithmic ? "logarithmic" : ""].filter(Boolean).join(", ");
}

/** `12.5 s`, or only the number if there is no unit. */
export function withUnit(value: number, unit: string): string {
  return unit === "" ? plain(value) : `${plain(value)}\u00a0${unit}`;
}
