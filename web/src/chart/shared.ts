import type { Axis, Stretch } from "./contract";

/** What follows the cursor and the zoom of its horizontal axis. */
export interface Follower {
  /** Puts the cursor there; null removes it. */
  point(x: number | null): void;
  /** Shows this stretch; null shows everything. */
  show(stretch: Stretch | null): void;
}

/** What all charts over one horizontal axis share: where the cursor is and which stretch is shown. */
export class SharedAxis {
  private static readonly known = new Map<string, SharedAxis>();

  private readonly followers = new Set<Follower>();
  private stretch: Stretch | null = null;

  /** Axes with the same title, unit and scale are one. */
  static of(axis: Axis): SharedAxis {
    const key = JSON.stringify([axis.title, axis.unit, axis.logarithmic]);
    let shared = SharedAxis.known.get(key);
    if (!shared) {
      shared = new SharedAxis();
      SharedAxis.known.set(key, shared);
    }
    return shared;
  }

  /** Undoes every zoom on the page. */
  static showAll(): void {
    SharedAxis.known.forEach((shared) => shared.show(null));
  }

  join(follower: Follower): void {
    this.followers.add(follower);
    follower.show(this.stretch);
  }

  point(x: number | null): void {
    this.followers.forEach((follower) => follower.point(x));
  }

  show(stretch: Stretch | null): void {
    this.stretch = stretch;
    this.followers.forEach((follower) => follower.show(stretch));
  }
}
