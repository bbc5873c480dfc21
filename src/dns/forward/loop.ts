// Recognises our own questions when they come back. A server that finds one answers SERVFAIL and goes on: no packet
// makes it stop.
import { randomBytes } from 'node:crypto';

import { classes, types } from '../../dnswire/codes.ts';
import type { Question } from '../../dnswire/message.ts';
import { concat } from '../../dnswire/record.ts';

const idBytes = 8;
/** More servers than this in a row are a loop among others. */
const maxHops = 8;

/** Says in every question which servers it came through: an id for each, chosen by chance when it started. */
export class Trail {
  readonly #id: Uint8Array;

  constructor(id: Uint8Array = randomBytes(idBytes)) {
    this.#id = id;
  }

  /** What a question carries on, that came with `trail`. */
  extend(trail: Uint8Array): Uint8Array {
    return concat([trail, this.#id]);
  }

  /** Whether a question that came with `trail` has been here before, or goes round somewhere else. */
  isLoop(trail: Uint8Array): boolean {
    if (trail.length >= maxHops * idBytes) return true;
    for (let at = 0; at + idBytes <= trail.length; at += idBytes) {
      if (this.#id.every((byte, index) => byte === trail[at + index])) return true;
    }
    return false;
  }
}

/** Below a name that is nobody's (RFC 6761 §6.4), so that every resolver denies it quickly. */
const probeZone = 'loop.fairlead.invalid';

/** A question that nobody else can ask: most resolvers drop the trail of a question, but none changes its name. */
export function probeQuestion(): Question {
  return { name: `${randomBytes(16).toString('hex')}.${probeZone}`, type: types.TXT, class: classes.IN };
}

/** Whether a name could be a probe's; a quick look before a longer one. */
export const mayBeProbe = (name: string): boolean => name.endsWith(probeZone);
