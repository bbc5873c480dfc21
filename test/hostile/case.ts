// What a hostile case is. See README.md for how to add one.

import type { HostileRequest, HostileServer, Outcome } from './client.ts';

/** One way to harm a server. Every case runs while another client measures its own small requests. */
export interface HostileCase {
  /** What is sent, as the table shows it. */
  readonly name: string;
  /** Objects that must exist before; everything in the namespace is deleted after the case. */
  readonly prepare?: (place: Place) => Iterable<HostileRequest>;
  /** Sends it; resolves with what the server answered. Must end within the signal. */
  readonly attack: (place: Place, signal: AbortSignal) => Promise<readonly Outcome[]>;
}

/** Where a case does its harm. */
export interface Place {
  /** The attacker's connections; its rights end at the namespace. */
  readonly server: HostileServer;
  readonly namespace: string;
}

/** A case that is one request. The body is made when the case runs, so that the cases themselves cost no memory. */
export const request = (
  name: string,
  make: (place: Place) => HostileRequest,
  prepare?: HostileCase['prepare'],
): HostileCase => ({
  name,
  ...(prepare === undefined ? {} : { prepare }),
  attack: async (place, signal) => [await place.server.send(make(place), signal)],
});

/** The same request of several clients at once. */
export const crowd = (
  name: string,
  clients: number,
  make: (place: Place, client: number) => HostileRequest,
  prepare?: HostileCase['prepare'],
): HostileCase => ({
  name: `${clients} × ${name}`,
  ...(prepare === undefined ? {} : { prepare }),
  attack: (place, signal) =>
    Promise.all(Array.from({ length: clients }, (_, client) => place.server.send(make(place, client), signal))),
});
