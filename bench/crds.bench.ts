// Measures custom resources: 1,000 definitions, and writes of an object with ten CEL rules.

import { load } from './client.ts';
import { Connection } from './client.ts';
import type { Result } from './api.bench.ts';
import type { Running } from './process.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const group = 'bench.example.com';
const count = 1000;

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

/** Runs the whole measurement against one fresh server. */
export async function measureCrds(running: Running, progress: (text: string) => void): Promise<Result[]> {
  const { target } = running;
  const before = running.residentBytes();
  progress('definitions');
  const started = performance.now();
  await load(target, { clients: 8, count, request: (index) => ['POST', definitions, definition(index)] });
  const connection = await Connection.open(target);
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
    if (served === count) break;
    if (performance.now() - started > 300_000) throw new Error(`${served} of ${count} resources are served`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const servedMs = performance.now() - started;
  const results: Result[] = [
    { name: `until ${count.toLocaleString('en')} new definitions are served`, unit: 's', value: servedMs / 1000 },
  ];
  progress('documents');
  results.push({ name: 'discovery of their group', unit: 'ms', value: await timed(resources) });
  results.push({ name: 'OpenAPI v3 of their group', unit: 'ms', value: await timed(`/openapi/v3${resources}`) });
  results.push({ name: 'the same again', unit: 'ms', value: await timed(`/openapi/v3${resources}`) });
  results.push({ name: 'OpenAPI v2', unit: 'ms', value: await timed('/openapi/v2') });
  connection.close();
  await new Promise((resolve) => setTimeout(resolve, 10_000)); // both servers release memory when they are idle
  results.push({ name: 'memory for them', unit: 'MB', value: (running.residentBytes() - before) / 1e6 });
  progress('objects');
  const path = `${resources}/namespaces/default/kind0s`;
  const create = (tag: string, clients: number, number: number): Promise<number> =>
    load(target, { clients, count: number, request: (index) => ['POST', path, object(tag, index)] });
  await create('warm', 64, 2000); // warm caches and compilers
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
