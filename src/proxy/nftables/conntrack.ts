// Deletes UDP flows to endpoints that no longer serve. Rules apply to new flows only, so a client that keeps its socket would send
// there for ever.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { IpFamily } from '../../api/addresses.ts';
import { canonicalAddress } from '../../api/addresses.ts';
import type { RouteChange } from '../backend.ts';
import type { Route } from '../routes/route.ts';
import { routeKey } from '../routes/route.ts';
import type { ProgramLine } from './program.ts';
import { runProgram } from './program.ts';

/** A UDP flow in connection tracking. */
export interface UdpFlow {
  readonly source: string;
  readonly sourcePort: number;
  readonly address: string;
  readonly port: number;
  /** The endpoint: `address port`. */
  readonly answers: string;
}

/** Frontends whose flows may be stale, with their serving endpoints; none for a removed route. */
export type FrontendsToCheck = ReadonlyMap<
  string,
  Pick<Route, 'kind' | 'address' | 'port' | 'family'> & { readonly serving: ReadonlySet<string> }
>;

const none: ReadonlySet<string> = new Set();

/** The UDP frontends of a change whose flows may be stale. */
export function frontendsToCheck({ removed, added }: RouteChange): FrontendsToCheck {
  const frontends = new Map<string, Route & { readonly serving: ReadonlySet<string> }>();
  const before = new Map<string, Route>();
  for (const route of removed) {
    if (route.protocol !== 'UDP') continue;
    before.set(routeKey(route), route);
    frontends.set(routeKey(route), { ...route, serving: none });
  }
  for (const route of added) {
    if (route.protocol !== 'UDP') continue;
    const key = routeKey(route);
    if (keepsAllEndpoints(before.get(key), route)) frontends.delete(key);
    else frontends.set(key, { ...route, serving: route.serving ?? none });
  }
  return frontends;
}

/** Whether all endpoints of existing flows still serve. */
function keepsAllEndpoints(before: Route | undefined, { serving = none }: Route): boolean {
  // Flows that began without a destination were sent to an unused address, and continue to be sent there.
  return before?.action.type === 'forward' && (before.serving ?? none).isSubsetOf(serving);
}

/** Flows whose endpoint does not serve, or that have none. */
export function staleFlows(flows: readonly UdpFlow[], frontends: FrontendsToCheck): readonly UdpFlow[] {
  return flows.filter(({ address, port, answers }) => {
    const frontend = frontends.get(routeKey({ address, protocol: 'UDP', port }));
    if (frontend === undefined || frontend.serving.has(answers)) return false;
    // Without a matching node port the node itself answers; such a flow is not ours.
    const isNodesOwn = frontend.kind === 'nodePort' && answers === `${address} ${port}`;
    return !isNodesOwn || frontend.serving.size > 0;
  });
}

/** Parses the output of `conntrack -L -o extended`. Lines that are not UDP flows are skipped. */
export function parseFlows(text: string): readonly UdpFlow[] {
  return text.split('\n').flatMap((line) => {
    if (!/\budp\b/.test(line)) return [];
    const pairs = Array.from(line.matchAll(/\b(src|dst|sport|dport)=(\S+)/g));
    const values = (name: string): readonly string[] =>
      pairs.filter(([, key]) => key === name).map(([, , value = '']) => value);
    const [source = '', answerer = ''] = values('src').map((address) => canonicalAddress(address) ?? '');
    const [sourcePort, answerPort] = values('sport').map(Number);
    const address = canonicalAddress(values('dst')[0] ?? '');
    const port = Number(values('dport')[0]);
    if (address === undefined || source === '' || sourcePort === undefined || answerPort === undefined) return [];
    return [{ source, sourcePort, address, port, answers: `${answerer} ${answerPort}` }];
  });
}

const timeoutMs = 30_000;

/** Lists flows and deletes stale ones, with one process each. */
export class Conntrack {
  readonly #program: ProgramLine;
  #problem: string | undefined;

  constructor(program: ProgramLine) {
    this.#program = program;
  }

  /** Why stale flows cannot be deleted; undefined if they can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Deletes stale flows of these frontends and returns their number. Never rejects; failures are in `problem`. */
  async deleteStale(frontends: FrontendsToCheck): Promise<number> {
    const families = new Set(Array.from(frontends.values(), ({ family }) => family));
    let count = 0;
    this.#problem = undefined;
    for (const family of families) count += await this.#deleteFamily(family, frontends);
    return count;
  }

  async #deleteFamily(family: IpFamily, frontends: FrontendsToCheck): Promise<number> {
    const of = ['-f', family === 'IPv4' ? 'ipv4' : 'ipv6'];
    const listed = await runProgram(this.#program, ['-L', '-p', 'udp', '-o', 'extended', ...of], { timeoutMs });
    if (listed.code !== 0) {
      this.#fail(listed.code, listed.stderr);
      return 0;
    }
    const stale = staleFlows(parseFlows(listed.stdout), frontends);
    if (stale.length > 0) await this.#delete(stale.map((flow) => `${deletion(flow, of)}\n`).join(''));
    return stale.length;
  }

  /** Deletes flows with one process. It opens its input by name, and pipes of Node have none, hence a file. */
  async #delete(lines: string): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-flows-'));
    try {
      const file = join(folder, 'flows');
      await writeFile(file, lines, { mode: 0o600 });
      const { code, stderr } = await runProgram(this.#program, ['-R', file], { timeoutMs });
      // The flow may have ended meanwhile.
      if (code !== 0 && !/no such|0 flow entries/i.test(stderr)) this.#fail(code, stderr);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  #fail(code: number | 'ENOENT' | null, stderr: string): void {
    const consequence = 'UDP clients may stay with endpoints that are gone';
    this.#problem =
      code === 'ENOENT'
        ? `no program "${this.#program[0]}": ${consequence}; install conntrack-tools`
        : `conntrack failed, ${consequence}: ${stderr.trim().split('\n')[0] ?? ''}`;
  }
}

const deletion = ({ source, sourcePort, address, port }: UdpFlow, of: readonly string[]): string =>
  ['-D', ...of, '-p', 'udp', '-s', source, '-d', address, '--sport', sourcePort, '--dport', port].join(' ');
