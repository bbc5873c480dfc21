import assert from 'node:assert/strict';

/** A change of one key, from a watch: `value` undefined means that it was deleted. */
export interface KeyEvent {
  readonly key: string;
  readonly revision: number;
  readonly value: string | undefined;
}

/** What a client did, and when, in milliseconds. Requests without an answer are left out: they may have any effect. */
export interface Operation {
  readonly begin: number;
  readonly end: number;
  readonly what: Outcome;
}

type Outcome =
  /** A create or update that was acknowledged. */
  | { readonly type: 'write'; readonly key: string; readonly value: string; readonly revision: number }
  | { readonly type: 'delete'; readonly key: string }
  | { readonly type: 'get'; readonly key: string; readonly value: string | undefined; readonly revision: number }
  | { readonly type: 'list'; readonly values: ReadonlyMap<string, string>; readonly revision: number }
  /** A create that found the key. */
  | { readonly type: 'exists'; readonly key: string }
  /** An update that required another revision. */
  | { readonly type: 'conflict'; readonly key: string; readonly expected: number };

/**
 * Checks that a history is linearizable: every operation took effect at one revision, and an operation that began after
 * another had ended took effect at the same revision or a later one. `events` are all changes, by revision.
 *
 * Each operation gets the lowest possible revision, in the order of their ends, so that later ones are restricted least.
 */
export function checkLinearizable(operations: readonly Operation[], events: readonly KeyEvent[]): void {
  const log = new EventLog(events);
  const finished: { readonly end: number; readonly revision: number }[] = [];
  const byBegin = operations.toSorted((a, b) => a.begin - b.begin);
  const running: { readonly end: number; readonly revision: number }[] = [];
  let lowest = 0;
  for (const { begin, end, what } of byBegin) {
    running.sort((a, b) => a.end - b.end);
    while (running[0] !== undefined && running[0].end < begin) {
      const done = running.shift();
      if (done !== undefined) lowest = Math.max(lowest, done.revision);
    }
    const revision = log.place(what, lowest);
    assert.ok(
      revision !== undefined,
      `not linearizable: ${JSON.stringify({ ...what, begin, end })} after revision ${lowest}; ${log.describe(what)}`,
    );
    running.push({ end, revision });
    finished.push({ end, revision });
  }
}

interface State {
  readonly from: number;
  readonly until: number;
  readonly value: string | undefined;
}

class EventLog {
  /** key → its states, in order */
  readonly #states = new Map<string, State[]>();
  readonly #events: readonly KeyEvent[];

  constructor(events: readonly KeyEvent[]) {
    this.#events = events;
    for (const { key, revision, value } of events) {
      const states = this.#states.get(key) ?? [{ from: 0, until: Infinity, value: undefined }];
      const last = states.pop();
      if (last !== undefined) states.push({ ...last, until: revision });
      states.push({ from: revision, until: Infinity, value });
      this.#states.set(key, states);
    }
  }

  /** The lowest revision from `lowest` on at which an operation can have had its outcome. */
  place(what: Outcome, lowest: number): number | undefined {
    if (what.type === 'list') return this.#placeList(what, lowest);
    const states = this.#states.get(what.key) ?? [{ from: 0, until: Infinity, value: undefined }];
    switch (what.type) {
      case 'write':
        return states.some(({ from, value }) => from === what.revision && value === what.value) &&
          what.revision > lowest
          ? what.revision
          : undefined;
      case 'delete':
        return states.find(({ from, value }) => from > lowest && value === undefined)?.from;
      case 'get':
        return firstAt(
          states.filter(({ from, value }) => value === what.value && (value === undefined || from === what.revision)),
          lowest,
        );
      case 'exists':
        return firstAt(
          states.filter(({ value }) => value !== undefined),
          lowest,
        );
      case 'conflict':
        return firstAt(
          states.filter(({ from }) => from !== what.expected),
          lowest,
        );
    }
  }

  #placeList({ values, revision }: Outcome & { readonly type: 'list' }, lowest: number): number | undefined {
    if (this.#events.some((event) => event.revision > revision && event.revision <= lowest)) return undefined;
    const state = new Map<string, string>();
    for (const { key, revision: at, value } of this.#events) {
      if (at > revision) break;
      if (value === undefined) state.delete(key);
      else state.set(key, value);
    }
    const isSame = state.size === values.size && [...values].every(([key, value]) => state.get(key) === value);
    return isSame ? Math.max(revision, lowest) : undefined;
  }

  describe(what: Outcome): string {
    return 'key' in what ? `its states: ${JSON.stringify(this.#states.get(what.key))}` : 'the state differs';
  }
}

function firstAt(states: readonly State[], lowest: number): number | undefined {
  const state = states.find(({ until }) => until > lowest);
  return state === undefined ? undefined : Math.max(state.from, lowest);
}
