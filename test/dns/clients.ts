// Queries with dig, kdig and Node's resolver, and their results.
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';

import { run } from '../harness/command.ts';

/** The address of a DNS server. */
export interface Place {
  readonly address: string;
  readonly port: number;
}

export interface Question {
  readonly name: string;
  /** Default: `A`. */
  readonly type?: string;
}

/** A reply as a client prints it. */
export interface Reply {
  readonly status: string;
  /** For example `qr aa rd ra`. */
  readonly flags: string;
  /** Each `TYPE data`, sorted. */
  readonly answer: readonly string[];
  readonly authority: readonly string[];
  readonly additional: readonly string[];
  /** The complete output. */
  readonly text: string;
}

/** The clients; both print replies in nearly the same format. */
export type Client = 'dig' | 'kdig';

/** Sends several queries with one process; a missing reply is an error. */
export async function ask(
  client: Client,
  { address, port }: Place,
  questions: readonly Question[],
  options: readonly string[] = [],
): Promise<readonly Reply[]> {
  const retryFlags = client === 'dig' ? ['+tries=1', '+time=5'] : ['+retry=0', '+time=5'];
  const queryArguments = questions.flatMap(({ name, type = 'A' }) => [...options, name, type]);
  const server = [`@${address}`, '-p', String(port)];
  // Kdig applies options before the first name to all queries; so does dig, except for options of a query.
  const args =
    client === 'dig'
      ? [...server, ...retryFlags, ...queryArguments]
      : [...server, ...retryFlags, ...options, ...queryArguments];
  const { out, err, code } = await run(client, args);
  const replies = out.split(/^;; ->>HEADER<<- /m).slice(1);
  assert.equal(replies.length, questions.length, `${client} ${args.join(' ')} ended with ${code}: ${out}${err}`);
  return replies.map(parseReply);
}

/** Sends one query with dig. */
export async function dig(place: Place, name: string, type = 'A', ...options: readonly string[]): Promise<Reply> {
  const [reply] = await ask('dig', place, [{ name, type }], options);
  return reply ?? assert.fail('no reply');
}

function parseReply(text: string): Reply {
  const section = (name: string): readonly string[] => {
    const [, lines = ''] = new RegExp(`^;; ${name} SECTION:\\n((?:[^;\\n].*\\n)*)`, 'm').exec(text) ?? [];
    return lines
      .split('\n')
      .flatMap(
        (line) => /^\S+\s+\d+\s+(?:IN\s+)?(\S+)\s+(.*)$/.exec(line)?.slice(1).join(' ').replaceAll(/\s+/g, ' ') ?? [],
      )
      .toSorted();
  };
  return {
    status: /status: (\w+)/.exec(text)?.[1] ?? '',
    flags: /flags: ([a-z ]*);/i.exec(text)?.[1] ?? '',
    answer: section('ANSWER'),
    authority: section('AUTHORITY'),
    additional: section('ADDITIONAL'),
    text,
  };
}

/** A reply as one word or its records: `NXDOMAIN`, `NODATA`, or the answers. */
export const gist = ({ status, answer }: Reply): readonly string[] => {
  if (status !== 'NOERROR') return [status, ...answer];
  return answer.length === 0 ? ['NODATA'] : answer;
};

/** Node's resolver, which queries only this server. */
export function resolverAt({ address, port }: Place): Resolver {
  const resolver = new Resolver({ timeout: 5000, tries: 1 });
  resolver.setServers([address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`]);
  return resolver;
}

/** The result of Node's resolver, in the format of `gist`. */
export async function resolveByNode(place: Place, { name, type = 'A' }: Question): Promise<readonly string[]> {
  const resolver = resolverAt(place);
  try {
    switch (type) {
      case 'A':
      case 'AAAA':
        return (await (type === 'A' ? resolver.resolve4(name) : resolver.resolve6(name)))
          .map((address) => `${type} ${address}`)
          .toSorted();
      case 'SRV':
        return (await resolver.resolveSrv(name))
          .map((each) => `SRV ${each.priority} ${each.weight} ${each.port} ${each.name}.`)
          .toSorted();
      case 'PTR':
        return (await resolver.resolvePtr(name)).map((target) => `PTR ${target}.`).toSorted();
      case 'TXT':
        return (await resolver.resolveTxt(name)).map((strings) => `TXT "${strings.join('')}"`).toSorted();
      default:
        throw new Error(`bug: Node's resolver cannot query ${type}`);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const words: Readonly<Record<string, string>> = { ENOTFOUND: 'NXDOMAIN', ENODATA: 'NODATA', ESERVFAIL: 'SERVFAIL' };
    const word = words[code];
    if (word === undefined) throw error;
    return [word];
  }
}
