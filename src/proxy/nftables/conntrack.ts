// UDP flows that lead to endpoints which no longer serve. A client that keeps its socket would send there for ever: rules
// are asked only when a flow begins.
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

/** A UDP flow as the kernel keeps it. */
export interface UdpFlow {
  readonly source: string;
  readonly sourcePort: number;
  readonly address: string;
  readonly port: number;
  /** Who answers: `address port`. */
  readonly answers: string;
}

/** Which frontends to look at, and who may answer there: nobody where a route is gone. */
export type Watched = ReadonlyMap<
  string,
  Pick<Route, 'kind' | 'address' | 'port' | 'family'> & { readonly serving: ReadonlySet<string> }
>;

const nobody: ReadonlySet<string> = new Set();

/** The UDP frontends of a change that may have flows to cut. */
export function watchedIn({ removed, added }: RouteChange): Watched {
  const watched = new Map<string, Route & { readonly serving: ReadonlySet<string> }>();
  const before = new Map<string, Route>();
  for (const route of removed) {
    if (route.protocol !== 'UDP') continue;
    before.set(routeKey(route), route);
    watched.set(routeKey(route), { ...route, serving: nobody });
  }
  for (const route of added) {
    if (route.protocol !== 'UDP') continue;
    const key = routeKey(route);
    if (losesNobody(before.get(key), route)) watched.delete(key);
    else watched.set(key, { ...route, serving: route.serving ?? nobody });
  }
  return watched;
}

/** Whether every flow that there can be still has somebody who answers it. */
function losesNobody(before: Route | undefined, { serving = nobody }: Route): boolean {
  // What began while there was nobody was sent nowhere, and goes on being sent there.
  return before?.action.type === 'forward' && (before.serving ?? nobody).isSubsetOf(serving);
}

/** The flows that lead to somebody who does not serve, or to nobody at all. */
export function staleFlows(flows: readonly UdpFlow[], watched: Watched): readonly UdpFlow[] {
  return flows.filter(({ address, port, answers }) => {
    const frontend = watched.get(routeKey({ address, protocol: 'UDP', port }));
    if (frontend === undefined || frontend.serving.has(answers)) return false;
    // A node answers itself where no node port was in the way; that is somebody else's flow.
    const isNodesOwn = frontend.kind === 'nodePort' && answers === `${address} ${port}`;
    return !isNodesOwn || frontend.serving.size > 0;
  });
}

/** Reads what `conntrack -L -o extended` prints. Lines that are not UDP flows are skipped. */
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

/** Lists flows once, and cuts those that are stale, all at once. */
export class Conntrack {
  readonly #program: ProgramLine;
  #problem: string | undefined;

  constructor(program: ProgramLine) {
    this.#program = program;
  }

  /** Why flows are not cut; undefined if they are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Cuts the stale flows of these frontends, and says how many. Never rejects: `problem` tells. */
  async cut(watched: Watched): Promise<number> {
    const families = new Set(Array.from(watched.values(), ({ family }) => family));
    let count = 0;
    this.#problem = undefined;
    for (const family of families) count += await this.#cutFamily(family, watched);
    return count;
  }

  async #cutFamily(family: IpFamily, watched: Watched): Promise<number> {
    const of = ['-f', family === 'IPv4' ? 'ipv4' : 'ipv6'];
    const listed = await runProgram(this.#program, ['-L', '-p', 'udp', '-o', 'extended', ...of], { timeoutMs });
    if (listed.code !== 0) {
      this.#fail(listed.code, listed.stderr);
      return 0;
    }
    const stale = staleFlows(parseFlows(listed.stdout), watched);
    if (stale.length > 0) await this.#delete(stale.map((flow) => `${deletion(flow, of)}\n`).join(''));
    return stale.length;
  }

  /** One process for all. It opens what it reads by name, and the pipes of Node have none: hence a file. */
  async #delete(lines: string): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-flows-'));
    try {
      const file = join(folder, 'flows');
      await writeFile(file, lines, { mode: 0o600 });
      const { code, stderr } = await runProgram(this.#program, ['-R', file], { timeoutMs });
      // A flow that ended by itself meanwhile is as good as cut.
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
