// Sends the same requests to two servers and compares the answers.

import type { ApiRequest, ApiResponse, Transport } from '../../src/client/transport.ts';

/** A request with a name that identifies it in a report. */
export interface Question {
  readonly name: string;
  readonly request: ApiRequest;
}

/** Two answers that differ. */
export interface Difference {
  readonly name: string;
  readonly theirs: string;
  readonly ours: string;
}

/** What a client sees of an answer, without what differs between any two servers. */
function visible({ status, headers, body }: ApiResponse): string {
  const warnings = [headers['warning'] ?? []]
    .flat()
    .flatMap((each) => each.split(/, (?=299 )/))
    .sort();
  return JSON.stringify([status, parsed(body), ...warnings]);
}

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body, (name, value: unknown) => normalised(name, value)) as unknown;
  } catch {
    return body.trim();
  }
};

const random = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'managedFields',
  'time',
  'lastPhaseTransitionTime',
  'gitVersion',
  'hash',
]);

/** Allocated addresses, and UIDs in labels. */
const changing =
  /(?<=in record \()\d+|(?<=current: )\d+|\b10\.0\.\d+\.\d+\b|\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g;

function normalised(name: string, value: unknown): unknown {
  if (random.has(name)) return undefined;
  if (name === 'nodePort' || name === 'healthCheckNodePort')
    return typeof value === 'number' && value >= 30_000 && value < 32_768 ? 'allocated' : value;
  if (typeof value === 'string')
    return /^(?:\d+[smh]){1,2}$/.test(value) ? 'age' : value.replaceAll(changing, 'changing');
  // Only our server creates it without a controller.
  if (Array.isArray(value)) return value.filter((item) => !JSON.stringify(item).includes('"kube-root-ca.crt"'));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  return value;
}

/** The answers that differ, in the order of the questions. At most eight requests are open at once. */
export async function compare(
  questions: Iterable<Question>,
  theirs: Transport,
  ours: Transport,
): Promise<{ readonly compared: number; readonly differences: readonly Difference[] }> {
  const differences: Difference[] = [];
  let compared = 0;
  const ask = async ({ name, request }: Question): Promise<void> => {
    const [their, our] = (await Promise.all([theirs.request(request), ours.request(request)])).map(visible);
    compared += 1;
    if (their !== our) differences.push({ name, theirs: their ?? '', ours: our ?? '' });
  };
  const queue = questions[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) await ask(next.value);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return { compared, differences: differences.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
}
