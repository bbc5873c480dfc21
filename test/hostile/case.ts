// The interface of a hostile case. README.md explains how to add one.

import type { HostileRequest, HostileServer, Outcome } from './client.ts';

/** One way to harm a server. While it runs, another client measures its own small requests. */
export interface HostileCase {
  /** Its name in the table. */
  readonly name: string;
  /** Objects that must exist before; everything in the namespace is deleted afterwards. */
  readonly prepare?: (place: Place) => Iterable<HostileRequest>;
  /** Runs the attack and resolves with the response. Must end when the signal fires. */
  readonly attack: (place: Place, signal: AbortSignal) => Promise<readonly Outcome[]>;
}

/** The environment of a case. */
export interface Place {
  /** The connections of the attacker, which has rights in the namespace only. */
  readonly server: HostileServer;
  readonly namespace: string;
}

/** A case with one request. The body is built when the case runs, so that cases use no memory before. */
export const request = (
  name: string,
  make: (place: Place) => HostileRequest,
  prepare?: HostileCase['prepare'],
): HostileCase => ({
  name,
  ...(prepare === undefined ? {} : { prepare }),
  attack: async (place, signal) => [await place.server.send(make(place), signal)],
});

/** The same request by several clients at once. */
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
