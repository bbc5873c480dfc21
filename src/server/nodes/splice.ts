import type { Duplex } from 'node:stream';
import { Socket } from 'node:net';

import { setTimeout } from '../../machine/timers.ts';

/** A connection without a byte in either direction for this long is closed, as in Kubernetes. */
const idleMs = 4 * 60 * 60 * 1000;
/** How long one side may keep a connection open that the other has ended. */
const halfOpenMs = 10_000;

/** Copies the bytes of two connections to each other, at the pace of the slower one, and closes both together. */
export function splice(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => undefined); // `close` follows
    from.pipe(to); // ends `to` when `from` ends
    from.on('end', () => to.once('finish', () => closeSoon(from, to)));
    from.on('close', () => {
      // Without an end it was reset.
      if (!from.readableEnded) to.destroy();
    });
    if (from instanceof Socket) from.setTimeout(idleMs, () => from.destroy());
    if (from.destroyed) to.destroy();
  }
}

function closeSoon(one: Duplex, other: Duplex): void {
  setTimeout(() => {
    one.destroy();
    other.destroy();
  }, halfOpenMs).unref();
}
