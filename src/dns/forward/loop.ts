// Detects queries of this server that return to it. They are answered SERVFAIL; nothing else stops.
import { randomBytes } from 'node:crypto';

import { classes, types } from '../../dnswire/codes.ts';
import type { Question } from '../../dnswire/message.ts';
import { concat } from '../../dnswire/record.ts';

const idBytes = 8;
/** A longer list is a loop among other servers. */
const maxHops = 8;

/** Lists in each query the servers that forwarded it, by an id that each chooses randomly at start. */
export class HopList {
  readonly #id: Uint8Array;

  constructor(id: Uint8Array = randomBytes(idBytes)) {
    this.#id = id;
  }

  /** The hops to send with a query that arrived with `hops`. */
  extend(hops: Uint8Array): Uint8Array {
    return concat([hops, this.#id]);
  }

  /** Whether a query that arrived with `hops` was forwarded by this server before, or loops elsewhere. */
  isLoop(hops: Uint8Array): boolean {
    if (hops.length >= maxHops * idBytes) return true;
    for (let at = 0; at + idBytes <= hops.length; at += idBytes) {
      if (this.#id.every((byte, index) => byte === hops[at + index])) return true;
    }
    return false;
  }
}

/** Below a reserved name (RFC 6761 §6.4), which every resolver answers quickly. */
const probeZone = 'loop.fairlead.invalid';

/** A unique question to detect loops: most resolvers drop the option, but none changes the name. */
export function probeQuestion(): Question {
  return { name: `${randomBytes(16).toString('hex')}.${probeZone}`, type: types.TXT, class: classes.IN };
}

/** Whether a name may be that of a probe: a cheap check before the exact one. */
export const mayBeProbe = (name: string): boolean => name.endsWith(probeZone);
