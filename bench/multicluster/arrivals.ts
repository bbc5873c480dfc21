// Observes imports and exports by watches, parsing no more than necessary.

import type { Target } from '../client.ts';
import { Connection } from '../client.ts';
import { groups } from './objects.ts';

/** Awaited events, each until it has occurred in a number of clusters. */
export class Arrivals implements Disposable {
  /** Awaited event → function to call on each occurrence. */
  readonly #waiting = new Map<string, () => void>();
  readonly #connections: Connection[] = [];
  /** Exports that have already reported success. */
  readonly #exported = new Set<string>();

  /** Watches all clusters. */
  static async of(targets: readonly Target[]): Promise<Arrivals> {
    const arrivals = new Arrivals();
    const selector = encodeURIComponent('multicluster.kubernetes.io/source-cluster');
    for (const target of targets) {
      await arrivals.#watch(
        target,
        `/apis/${groups.slices}/endpointslices?watch=true&labelSelector=${selector}`,
        (line) => arrivals.#slice(line),
      );
      await arrivals.#watch(target, `/apis/${groups.supercluster}/importedservices?watch=true`, (line) =>
        arrivals.#import(line),
      );
      await arrivals.#watch(target, `/apis/${groups.supercluster}/serviceexports?watch=true`, (line) =>
        arrivals.#export(line),
      );
    }
    return arrivals;
  }

  /** The number of exports with condition Exported. */
  get exported(): number {
    return this.#exported.size;
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection.close();
  }

  /** Resolves with the milliseconds until an event has occurred this often. */
  until(what: string, count: number): Promise<number> {
    const started = performance.now();
    const { promise, resolve } = Promise.withResolvers<number>();
    let left = count;
    this.#waiting.set(what, () => {
      if (--left > 0) return;
      this.#waiting.delete(what);
      resolve(performance.now() - started);
    });
    return promise;
  }

  #happened(what: string | undefined): void {
    if (what !== undefined) this.#waiting.get(what)?.();
  }

  #slice(line: string): void {
    if (line.startsWith('{"type":"MODIFIED"')) this.#happened(/"addresses":\["([^"]+)"/.exec(line)?.[1]);
  }

  #import(line: string): void {
    if (line.startsWith('{"type":"DELETED"')) this.#happened(`gone ${nameIn(line)}`);
  }

  #export(line: string): void {
    const name = nameIn(line);
    if (line.startsWith('{"type":"DELETED"')) {
      this.#exported.delete(name);
      this.#happened(`gone ${name}`);
    } else if (!this.#exported.has(name) && isExported.test(line)) {
      this.#exported.add(name);
      this.#happened(`exported ${name}`);
    }
  }

  async #watch(target: Target, path: string, take: (line: string) => void): Promise<void> {
    const connection = await Connection.open(target);
    this.#connections.push(connection);
    let rest = '';
    connection.stream(path, (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('{')) take(line);
    });
  }
}

const nameIn = (line: string): string => /"name":"(s\d+)"/.exec(line)?.[1] ?? '';
const isExported = /"type":"Exported","status":"True"|"status":"True"[^}]*"type":"Exported"/;
