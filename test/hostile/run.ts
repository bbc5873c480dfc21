// Sends hostile requests to a server while a second client measures its own small requests; see README.md.
//   npm run test:hostile -- [--kubeconfig FILE] [--case TEXT] [--bound-ms 100]

import { parseArgs } from 'node:util';

import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { FairleadServer } from '../harness/server.ts';
import { Bystander } from './bystander.ts';
import type { Waits } from './bystander.ts';
import type { HostileCase } from './case.ts';
import { cases } from './cases/cases.ts';
import type { Outcome, ServerTarget } from './client.ts';
import { HostileServer } from './client.ts';
import type { Stage } from './stage.ts';
import { checkFields } from './work/all-fields.ts';
import { openStage } from './stage.ts';

/** The time limit of a case. */
const caseMs = 120_000;
/** The bystander is measured for this long without an attack, and for at least this long during each case. */
const idleMs = 2000;
const periodMs = 500;
/** A wait beyond this multiple of the bound fails the run: a busy machine alone does not cause it. */
const margin = 10;

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    context: { type: 'string' },
    case: { type: 'string', default: '' },
    'bound-ms': { type: 'string', default: '100' },
    'allow-remote': { type: 'boolean', default: false },
    fields: { type: 'string' },
  },
});
const boundMs = Number(values['bound-ms']);
const chosen = cases.filter(({ name }) => name.includes(values.case));
// Nothing would be attacked or compared, and the run would pass.
const mistake =
  chosen.length === 0
    ? `--case ${JSON.stringify(values.case)}: no case has this text in its name`
    : boundMs > 0
      ? undefined
      : `--bound-ms ${JSON.stringify(values['bound-ms'])}: expected milliseconds, more than 0`;
if (mistake !== undefined) {
  process.stderr.write(`${mistake}\n`);
  process.exit(2);
}

/** The server to attack: that of a kubeconfig, or one that is started for the run. */
async function openTarget(): Promise<
  { target: ServerTarget; residentBytes?: () => Promise<number> } & AsyncDisposable
> {
  if (values.kubeconfig === undefined) {
    const server = await FairleadServer.start();
    const target = { url: server.url, insecure: false, ...(await server.credentials()) };
    return {
      target,
      residentBytes: () => server.residentBytes(),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  }
  const access = await readKubeconfig({ paths: [values.kubeconfig], context: values.context, env: process.env });
  const { hostname } = new URL(access.server);
  if (!isLoopback(hostname) && !values['allow-remote']) {
    throw new Error(`${access.server} is not on this machine; pass --allow-remote to attack it all the same`);
  }
  const target: ServerTarget = {
    url: access.server,
    ...(access.ca === undefined ? {} : { ca: access.ca }),
    insecure: access.insecureSkipTlsVerify ?? false,
    ...(await access.credentials(false)),
  };
  return { target, [Symbol.asyncDispose]: () => Promise.resolve() };
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '[::1]' || host.startsWith('127.');

interface Row {
  readonly name: string;
  readonly outcomes: readonly Outcome[];
  readonly waits: Waits;
  readonly megabytes: number | undefined;
  readonly seconds: number;
}

async function runCase(hostile: HostileCase, stage: Stage, bystander: Bystander, memory: Memory): Promise<Row> {
  using server = new HostileServer(stage.attacker);
  const place = { server, namespace: stage.namespace };
  for (const request of hostile.prepare?.(place) ?? []) {
    const made = await server.send(request);
    if (made.status >= 300)
      console.log(`${hostile.name}: cannot be prepared: ${made.status} ${made.text.slice(0, 200)}`);
  }
  await bystander.period();
  const started = performance.now();
  const outcomes = await hostile.attack(place, AbortSignal.timeout(caseMs));
  const seconds = (performance.now() - started) / 1000;
  await sleep(periodMs);
  const waits = await bystander.period();
  const megabytes = await memory();
  await stage.clear();
  return { name: hostile.name, outcomes, waits, megabytes, seconds };
}

type Memory = () => Promise<number | undefined>;

/** The resident memory of the server in megabytes, from its process or its metrics; undefined if neither has it. */
const memoryOf =
  (admin: HostileServer, residentBytes: (() => Promise<number>) | undefined): Memory =>
  async () => {
    const bytes =
      residentBytes === undefined
        ? Number(
            /^process_resident_memory_bytes (\S+)$/m.exec(
              (await admin.send({ method: 'GET', path: '/metrics' })).text,
            )?.[1],
          )
        : await residentBytes().catch(() => Number.NaN);
    return Number.isNaN(bytes) ? undefined : bytes / (1 << 20);
  };

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The problem of a row; undefined: none. */
function problemOf({ outcomes, waits }: Row): string | undefined {
  if (waits.failed > 0) return `the second client had ${waits.failed} failures: ${waits.problem}`;
  if (waits.requests === 0) return 'the second client got no answer';
  if (waits.longest > boundMs * margin) return `the second client waited ${Math.round(waits.longest)} ms`;
  const unanswered = outcomes.find(({ status }) => status === 0);
  if (unanswered !== undefined) return `no answer: ${unanswered.text}`;
  // Some rejections are a 500 in Kubernetes too.
  const broken = outcomes.find(({ status, text }) => status === 500 && text.includes('Internal error occurred'));
  return broken === undefined ? undefined : `the server blamed itself: ${broken.text.slice(0, 300)}`;
}

function print({ name, outcomes, waits, megabytes, seconds }: Row): void {
  const codes = [...new Set(outcomes.map(({ status }) => status))].join(' ');
  const bytes = Math.max(0, ...outcomes.map((outcome) => outcome.bytes));
  const cells = [
    name.padEnd(58),
    `${Math.round(bytes / 1024)} KiB`.padStart(9),
    codes.padStart(7),
    `${seconds.toFixed(1)} s`.padStart(8),
    `${Math.round(waits.longest)} ms`.padStart(9),
    megabytes === undefined ? '' : `${Math.round(megabytes)} MiB`.padStart(9),
  ];
  console.log(cells.join(' '));
}

async function main(): Promise<number> {
  await using opened = await openTarget();
  await using stage = await openStage(opened.target);
  const memory = memoryOf(stage.admin, opened.residentBytes);
  await using bystander = new Bystander({ target: stage.bystander, namespace: stage.namespace });
  await sleep(idleMs); // warms up both sides
  await bystander.period();
  await sleep(idleMs);
  const idle = await bystander.period();
  const heads = ['body'.padEnd(58), 'size'.padStart(9), 'answer'.padStart(7), 'took'.padStart(8), 'wait'.padStart(9)];
  console.log([...heads, 'memory'.padStart(9)].join(' '));
  print({ name: 'nothing', outcomes: [], waits: idle, megabytes: await memory(), seconds: idleMs / 1000 });
  const problems: string[] = [];
  for (const hostile of chosen) {
    const row = await runCase(hostile, stage, bystander, memory);
    print(row);
    const problem = problemOf(row);
    if (problem === undefined) continue;
    problems.push(`${row.name}: ${problem}`);
    if (row.waits.requests === 0 || row.outcomes.every(({ status }) => status === 0)) break;
  }
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

/** All fields of all kinds, unless the run is for a given server or case. */
async function countWork(): Promise<number> {
  if (values.fields === undefined && (values.kubeconfig !== undefined || values.case !== '')) return 0;
  return (await checkFields(values.fields ?? '', (line) => console.log(line))).length === 0 ? 0 : 1;
}

const hasFailed = values.fields === undefined ? await main() : 0;
process.exitCode = Math.max(hasFailed, await countWork());
