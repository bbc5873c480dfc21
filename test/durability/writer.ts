import type { Connection, TestObject } from '../harness/connection.ts';

/** The state of one object: the last acknowledged state, and the unanswered request. */
export interface Known {
  /** Undefined: it was never created, or its deletion was acknowledged. */
  readonly acknowledged: TestObject | undefined;
  /** The last request got no response: it may have been executed. */
  readonly pending: Pending | undefined;
}

type Pending = 'create' | 'change' | 'delete';

type Kind = 'services' | 'configmaps';

/**
 * Writes its own objects, one request after the other, and records what was acknowledged. Therefore at most
 * one object of a writer is in doubt when the server is killed.
 */
export class Writer {
  /** path → its state */
  readonly known = new Map<string, Known>();
  acknowledged = 0;
  readonly #name: string;
  readonly #namespace: string;
  readonly #random: () => number;
  #count = 0;

  constructor(name: string, namespace: string, random: () => number) {
    this.#name = name;
    this.#namespace = namespace;
    this.#random = random;
  }

  /** Writes until the connection breaks, and returns the error. */
  async run(connection: Connection): Promise<unknown> {
    for (;;) {
      const kind: Kind = this.#random() < 0.6 ? 'services' : 'configmaps';
      const name = `${this.#name}-${Math.floor(this.#random() * 5)}`;
      const broken = await this.#write(connection, kind, name);
      if (broken !== undefined) return broken;
    }
  }

  /** Adopts the state of the server after its restart, once it was checked. */
  settle(path: string, found: TestObject | undefined): void {
    this.known.set(path, { acknowledged: found, pending: undefined });
  }

  /** Why there was no response; undefined: there was one. */
  async #write(connection: Connection, kind: Kind, name: string): Promise<unknown> {
    const collection = `/api/v1/namespaces/${this.#namespace}/${kind}`;
    const path = `${collection}/${name}`;
    const before = this.known.get(path)?.acknowledged;
    const { method, url, body, type, pending } = this.#plan(kind, name, { before, collection });
    this.known.set(path, { acknowledged: before, pending });
    try {
      const answer = await connection.ask(method, url ?? path, body, type);
      if (answer.status > 201) throw new Refused(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      this.known.set(path, { acknowledged: pending === 'delete' ? undefined : answer.body, pending: undefined });
      this.acknowledged++;
      return undefined;
    } catch (error) {
      if (error instanceof Refused) throw error;
      return error;
    }
  }

  #plan(
    kind: Kind,
    name: string,
    { before, collection }: { readonly before: TestObject | undefined; readonly collection: string },
  ): Request {
    const text = `${this.#name} ${this.#count++}`;
    if (before === undefined) {
      return { method: 'POST', url: collection, body: this.#object(kind, name, text), pending: 'create' };
    }
    const dice = this.#random();
    if (dice < 0.3) return { method: 'DELETE', pending: 'delete' };
    if (dice < 0.65) {
      const { spec } = before;
      const changed = kind === 'services' ? { spec: { ...spec, ports: ports(this.#random()) } } : { data: { text } };
      return { method: 'PUT', body: { ...before, ...changed }, pending: 'change' };
    }
    const annotations = { text };
    if (dice < 0.8) {
      const type = 'application/merge-patch+json';
      return { method: 'PATCH', body: { metadata: { annotations } }, type, pending: 'change' };
    }
    return {
      method: 'PATCH',
      url: `${collection}/${name}?fieldManager=applier&force=true`,
      body: { apiVersion: 'v1', kind: kindOf(kind), metadata: { name, annotations } },
      type: 'application/apply-patch+yaml',
      pending: 'change',
    };
  }

  #object(kind: Kind, name: string, text: string): unknown {
    const metadata = { name, annotations: { text } };
    if (kind === 'configmaps') return { metadata, data: { text } };
    const type = this.#random() < 0.5 ? 'NodePort' : 'ClusterIP';
    return { metadata, spec: { type, ports: ports(this.#random()), selector: { app: name } } };
  }
}

class Refused extends Error {}

interface Request {
  readonly method: string;
  /** Default: the object's path. */
  readonly url?: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly pending: Pending;
}

const kindOf = (kind: Kind): string => (kind === 'services' ? 'Service' : 'ConfigMap');

/** One to three ports without node ports: a change releases some and requests others. */
const ports = (random: number): unknown =>
  Array.from({ length: 1 + Math.floor(random * 3) }, (_, index) => ({
    name: `p${index}`,
    port: 80 + index + Math.floor(random * 1000),
  }));
