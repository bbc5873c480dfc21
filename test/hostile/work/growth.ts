// Measures how the work of each verb grows with one field of an object.

import type { Kind } from '../../../src/api/kind.ts';
import { apiVersionOf } from '../../../src/api/kind.ts';
import { serviceKind } from '../../../src/api/kinds/core/service/kind.ts';
import { collectionOf, manifestOf } from '../../../src/server/testing/manifests.ts';
import type { TestServer } from '../../../src/server/testing/server.ts';
import { testServer } from '../../../src/server/testing/server.ts';
import { until } from '../../../src/server/testing/until.ts';
import type { Work, WorkCounter } from './counter.ts';
import type { LongField } from './fields.ts';
import { longValue, withField, withValue } from './fields.ts';

/** The compared sizes. */
export const sizes = [400, 3200] as const;
/** Linear work grows eightfold, quadratic work 64-fold; n log n stays below ten. */
const mostGrowth = 16;
/** Work that grows too much does so in each of them. */
const measurements = 4;

/** One verb with a field of a given length. */
interface Write {
  readonly verb: string;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly type?: string;
  readonly query?: string;
  readonly body: (name: string) => unknown;
}

/** Names what grew too much, such as `Pod spec.volumes: update 27-fold in blocks (1,000 to 27,000)`. */
export async function growthProblems(field: LongField, counter: WorkCounter): Promise<string[]> {
  // The server also has background work, such as sweeping its caches: growth counts only if it repeats.
  for (let more = measurements - 1; ; more--) {
    const problems = await measuredProblems(field, counter);
    if (problems.length === 0 || more === 0) return problems;
  }
}

async function measuredProblems(field: LongField, counter: WorkCounter): Promise<string[]> {
  await using server = await testServer();
  if (field.definition !== undefined) await define(server, field.kind, field.definition);
  const worksOf = (count: number): Promise<Map<string, Work>> => works(server, field, count, counter);
  await worksOf(20); // warms up the compiler
  const [few, many] = [await worksOf(sizes[0]), await worksOf(sizes[1])];
  const where = `${apiVersionOf(field.kind)} ${field.kind.kind} ${field.path.join('.')} (${field.treatment})`;
  return [...few].flatMap(([verb, small]) => {
    const large = many.get(verb) ?? small;
    return excessOf(small, large).map((excess) => `${where}: ${verb} ${excess}`);
  });
}

/** Where the work of eight times the input grew too much, such as `grew 27-fold in blocks, from 1000 to 27000`. */
export const excessOf = (small: Work, large: Work): string[] =>
  units
    .map((unit) => ({ unit, growth: large[unit] / Math.max(least[unit], small[unit]) }))
    .filter(({ growth }) => growth >= mostGrowth)
    .map(({ unit, growth }) => `grew ${Math.round(growth)}-fold in ${unit}, from ${small[unit]} to ${large[unit]}`);

/** Creates a definition and waits until its kind is served. */
async function define(server: TestServer, kind: Kind, definition: object): Promise<void> {
  const { status, text } = await server.ask('POST', definitions, { body: definition });
  if (status !== 201) throw new Error(text);
  await until('the kind is served', async () => (await server.ask('GET', collectionOf(kind))).status === 200);
}

/** The collection of CustomResourceDefinitions. */
export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const units = ['blocks', 'builtins', 'bytes'] as const;
/** Smaller counts are not distinguished. V8 counts bytes in steps as large as all allocations of a small request. */
const least: Work = { blocks: 1, builtins: 1, bytes: 1 << 20 };

/** The cost of each verb: verb → work. Verbs other than create use an object whose field is long already, where that is valid. */
async function works(
  server: TestServer,
  field: LongField,
  count: number,
  counter: WorkCounter,
): Promise<Map<string, Work>> {
  const collection = collectionOf(field.kind);
  const result = new Map<string, Work>();
  for (const [index, write] of writesOf(field, count).entries()) {
    const name = await prepare(server, field, count, { name: `web${count}-${index}`, isNew: write.method === 'POST' });
    const url = write.method === 'POST' ? collection : `${collection}/${name}${write.query ?? ''}`;
    const body = Buffer.from(JSON.stringify(write.body(name)));
    const ask = { body, ...(write.type === undefined ? {} : { type: write.type }) };
    result.set(write.verb, await counter.count(() => server.ask(write.method, url, ask)));
  }
  return result;
}

/** The name to write to; the object exists unless it is created. */
async function prepare(
  server: TestServer,
  field: LongField,
  count: number,
  target: { readonly name: string; readonly isNew: boolean },
): Promise<string> {
  const { kind } = field;
  const short = shortObject(kind, target.name);
  const { name } = short.metadata;
  if (target.isNew) return name;
  const long = withName(withField(short, field, longValue(field, count, 'first')), name);
  for (const body of [long, short]) {
    const { status } = await server.ask('POST', collectionOf(kind), { body });
    if (status === 201) break;
  }
  return name;
}

/** A valid object. A Service without node ports may have any number of ports. */
function shortObject(kind: Kind, name: string): ReturnType<typeof manifestOf> {
  const manifest = manifestOf(kind, name);
  const { spec } = manifest;
  if (kind !== serviceKind || typeof spec !== 'object' || spec === null) return manifest;
  return { ...manifest, spec: { ...spec, type: 'ClusterIP' } };
}

function writesOf(field: LongField, count: number): Write[] {
  const { kind, path, schema } = field;
  const first = longValue(field, count, 'first');
  const reversed = longValue(field, count, 'reversed');
  const part = withField({}, field, reversed);
  const ordered = withOrder(part, path, reversed, schema.type === 'list' ? schema.patch?.key : undefined);
  const patchOf = (verb: string, type: string, body: unknown): Write => ({
    verb,
    method: 'PATCH',
    type: `application/${type}`,
    body: () => body,
  });
  return [
    { verb: 'create', method: 'POST', body: (name) => withField(shortObject(kind, name), field, first) },
    {
      verb: 'update',
      method: 'PUT',
      body: (name) => withName(withField(shortObject(kind, name), field, reversed), name),
    },
    patchOf('merge patch', 'merge-patch+json', part),
    patchOf('strategic merge patch', 'strategic-merge-patch+json', ordered),
    patchOf('JSON patch', 'json-patch+json', operations(path, longValue(field, count, 'others'))),
    {
      verb: 'apply',
      method: 'PATCH',
      type: 'application/apply-patch+yaml',
      query: '?fieldManager=hostile&force=true',
      body: (name) => withName({ ...(part as object), apiVersion: apiVersionOf(kind), kind: kind.kind }, name),
    },
  ];
}

/** The name of the object equals that of the URL. */
const withName = (object: unknown, name: string): unknown => withValue(object, ['metadata', 'name'], name);

/** A list that is merged by key is sent with the order of its items. */
function withOrder(part: unknown, path: LongField['path'], items: unknown, key: string | undefined): unknown {
  const field = path.at(-1);
  if (key === undefined || typeof field !== 'string' || !Array.isArray(items)) return part;
  const order = items.map((item: Readonly<Record<string, unknown>>) => ({ [key]: item[key] }));
  return withValue(part, [...path.slice(0, -1), `$setElementOrder/${field}`], order);
}

/** One operation for each item or key, at the head of a list. */
function operations(path: LongField['path'], value: unknown): object[] {
  const pointer = `/${path.map((step) => `${step}`.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')}`;
  if (Array.isArray(value)) {
    return value.map((item: unknown) => ({ op: 'add', path: `${pointer}/0`, value: item }));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.entries(value).map(([key, item]) => ({
      op: 'add',
      path: `${pointer}/${key}`,
      value: item as unknown,
    }));
  }
  return [{ op: 'add', path: pointer, value }];
}
