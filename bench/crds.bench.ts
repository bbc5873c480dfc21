// Measures custom resources: many definitions, and writes of an object with ten CEL rules.

import { Connection, load } from './client.ts';
import type { Result } from './api.bench.ts';
import type { Running } from './process.ts';
import { median } from './quantile.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'bench.example.com';

/** Ten rules of the kinds that the Gateway API and others have. */
const rules: readonly string[] = [
  'self.minReplicas <= self.maxReplicas',
  'self.maxReplicas <= 100',
  "self.ports.all(p, p.name != '')",
  'self.ports.all(p, self.ports.exists_one(q, q.number == p.number))',
  "self.host.endsWith('.example.com')",
  "self.host.matches('^[a-z0-9.-]+$')",
  'size(self.ports) > 0 || self.minReplicas == 0',
  "has(self.mode) ? self.mode in ['Fast', 'Safe'] : true",
  "self.labels.all(key, !key.startsWith('internal/'))",
  "self.ports.filter(p, p.number < 1024).size() == 0 || self.mode == 'Safe'",
];

const text = { type: 'string', maxLength: 63 };
const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['minReplicas', 'maxReplicas', 'host', 'ports', 'labels'],
      properties: {
        minReplicas: { type: 'integer' },
        maxReplicas: { type: 'integer' },
        host: text,
        mode: text,
        labels: { type: 'object', maxProperties: 16, additionalProperties: text },
        ports: {
          type: 'array',
          maxItems: 16,
          items: {
            type: 'object',
            required: ['name', 'number'],
            properties: { name: text, number: { type: 'integer' } },
          },
        },
      },
      'x-kubernetes-validations': rules.map((rule) => ({ rule })),
    },
  },
};

const definition = (index: number): string =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `kind${index}s.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: `kind${index}s`, kind: `Kind${index}` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });

const object = (tag: string, index: number): string =>
  JSON.stringify({
    apiVersion: `${group}/v1`,
    kind: 'Kind0',
    metadata: { name: `${tag}-${index}` },
    spec: {
      minReplicas: 1,
      maxReplicas: 5,
      host: 'www.example.com',
      mode: 'Safe',
      labels: { app: 'web', tier: 'front', team: 'shop' },
      ports: ['http', 'https', 'metrics'].map((name, port) => ({ name, number: 80 + port })),
    },
  });

/** The definitions that both servers get, and that only ours gets: kube-apiserver would take most of an hour. */
const [few, many] = [1000, 10_000];

/** Runs the whole measurement against one fresh server. */
export async function measureCrds(running: Running, progress: (text: string) => void): Promise<Result[]> {
  const before = running.residentBytes();
  const results = [...(await addDefinitions(running, { from: 0, to: few, before }, progress))];
  progress('objects');
  results.push(...(await measureCreates(running)));
  if (running.name === 'fairlead') {
    results.push(...(await addDefinitions(running, { from: few, to: many, before }, progress)));
  }
  return results;
}

/** Creates definitions until there are `to`, and measures them and the documents for all of them. */
async function addDefinitions(
  running: Running,
  { from, to, before }: { readonly from: number; readonly to: number; readonly before: number },
  progress: (text: string) => void,
): Promise<Result[]> {
  const { target } = running;
  const count = to - from;
  const total = to.toLocaleString('en');
  progress(`${total} definitions`);
  const cpu = running.cpuSeconds();
  const bystander = new Bystander(await Connection.open(target), `bystander-${to}`);
  const started = performance.now();
  await load(target, { clients: 8, count, request: (index) => ['POST', definitions, definition(from + index)] });
  const connection = await Connection.open(target); // an idle one would be closed meanwhile
  const timed = async (path: string): Promise<number> => {
    const at = performance.now();
    const { status, body } = await connection.request('GET', path);
    if (status !== 200) throw new Error(`${path}: ${status} ${body.toString().slice(0, 300)}`);
    return performance.now() - at;
  };
  const resources = `/apis/${group}/v1`;
  for (;;) {
    const { body } = await connection.request('GET', resources);
    // kube-apiserver answers in chunks, so that the body is not JSON alone.
    const served = body.toString().split('"singularName"').length - 1;
    if (served === to) break;
    if (performance.now() - started > 600_000) throw new Error(`${served} of ${to} resources are served`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const seconds = (performance.now() - started) / 1000;
  const cpuMicros = ((running.cpuSeconds() - cpu) / count) * 1e6;
  const waits = await bystander.stop();
  const results: Result[] = [
    { name: `until ${total} definitions are served`, unit: 's', value: seconds },
    { name: `definitions per second, up to ${total}`, unit: '/s', value: count / seconds, cpuMicros },
    { name: `create of a ConfigMap meanwhile, up to ${total}, median`, unit: 'ms', value: median(waits) },
    { name: `create of a ConfigMap meanwhile, up to ${total}, slowest`, unit: 'ms', value: Math.max(...waits) },
  ];
  progress('documents');
  const document = async (name: string, path: string): Promise<void> => {
    results.push({ name: `${name}, ${total} definitions`, unit: 'ms', value: await timed(path) });
  };
  await document('discovery of their group', resources);
  if (from === 0) {
    // 18 KB for each kind of the group: those of 10,000 are longer than clients read.
    await document('OpenAPI v3 of their group', `/openapi/v3${resources}`);
    await document('the same again', `/openapi/v3${resources}`);
    await document('OpenAPI v2', '/openapi/v2');
  }
  connection.close();
  await new Promise((resolve) => setTimeout(resolve, 10_000)); // both servers release memory when they are idle
  results.push({
    name: `memory for ${total} definitions`,
    unit: 'MB',
    value: (running.residentBytes() - before) / 1e6,
  });
  return results;
}

/** Creates ConfigMaps, one after the other, and measures each. */
class Bystander {
  readonly #connection: Connection;
  readonly #waits: number[] = [];
  readonly #working: Promise<void>;
  #isStopped = false;

  constructor(connection: Connection, prefix: string) {
    this.#connection = connection;
    this.#working = this.#work(prefix);
  }

  async stop(): Promise<readonly number[]> {
    this.#isStopped = true;
    await this.#working;
    this.#connection.close();
    return this.#waits;
  }

  async #work(prefix: string): Promise<void> {
    while (!this.#isStopped) {
      const body = JSON.stringify({ metadata: { name: `${prefix}-${this.#waits.length}` } });
      const started = performance.now();
      await this.#connection.request('POST', '/api/v1/namespaces/default/configmaps', body);
      this.#waits.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Creates of an object with ten rules, by one and by many clients. */
async function measureCreates(running: Running): Promise<Result[]> {
  const { target } = running;
  const path = `/apis/${group}/v1/namespaces/default/kind0s`;
  const create = (tag: string, clients: number, number: number): Promise<number> =>
    load(target, { clients, count: number, request: (index) => ['POST', path, object(tag, index)] });
  await create('warm', 64, 2000); // warm caches and compilers
  const results: Result[] = [];
  for (const [clients, number] of [
    [1, 500],
    [64, 5000],
  ] as const) {
    const cpu = running.cpuSeconds();
    const seconds = await create(`c${clients}`, clients, number);
    const name = `creates of an object with ten CEL rules, ${clients} client${clients === 1 ? '' : 's'}`;
    const cpuMicros = ((running.cpuSeconds() - cpu) / number) * 1e6;
    results.push({ name, unit: '/s', value: number / seconds, cpuMicros });
  }
  return results;
}
