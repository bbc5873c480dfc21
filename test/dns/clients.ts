// dig, kdig and Node's own resolver, and what they got.
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';

import { run } from '../harness/command.ts';

/** Where a DNS server answers. */
export interface Place {
  readonly address: string;
  readonly port: number;
}

export interface Question {
  readonly name: string;
  /** `A` by default. */
  readonly type?: string;
}

/** A reply as a client printed it. */
export interface Reply {
  readonly status: string;
  /** Such as `qr aa rd ra`. */
  readonly flags: string;
  /** Each `TYPE data`, sorted. */
  readonly answer: readonly string[];
  readonly authority: readonly string[];
  readonly additional: readonly string[];
  /** Everything. */
  readonly text: string;
}

/** The programs that ask; both print what they got in nearly the same way. */
export type Client = 'dig' | 'kdig';

/** Asks several questions by one process; a reply that does not come is an error. */
export async function ask(
  client: Client,
  { address, port }: Place,
  questions: readonly Question[],
  options: readonly string[] = [],
): Promise<readonly Reply[]> {
  const patience = client === 'dig' ? ['+tries=1', '+time=5'] : ['+retry=0', '+time=5'];
  const asked = questions.flatMap(({ name, type = 'A' }) => [...options, name, type]);
  const server = [`@${address}`, '-p', String(port)];
  // kdig takes what comes before the first name for all that follow; so does dig, but for options of a query.
  const args = client === 'dig' ? [...server, ...patience, ...asked] : [...server, ...patience, ...options, ...asked];
  const { out, err, code } = await run(client, args);
  const replies = out.split(/^;; ->>HEADER<<- /m).slice(1);
  assert.equal(replies.length, questions.length, `${client} ${args.join(' ')} ended with ${code}: ${out}${err}`);
  return replies.map(parseReply);
}

/** Asks one question with dig. */
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

/** What a reply says in one word or by its records: `NXDOMAIN`, `NODATA`, or the answers. */
export const gist = ({ status, answer }: Reply): readonly string[] => {
  if (status !== 'NOERROR') return [status, ...answer];
  return answer.length === 0 ? ['NODATA'] : answer;
};

/** Node's resolver, which only asks this server. */
export function resolverAt({ address, port }: Place): Resolver {
  const resolver = new Resolver({ timeout: 5000, tries: 1 });
  resolver.setServers([address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`]);
  return resolver;
}

/** What Node's resolver makes of a question, in the words of `gist`. */
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
        throw new Error(`bug: Node is not asked for ${type}`);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const words: Readonly<Record<string, string>> = { ENOTFOUND: 'NXDOMAIN', ENODATA: 'NODATA', ESERVFAIL: 'SERVFAIL' };
    const word = words[code];
    if (word === undefined) throw error;
    return [word];
  }
}
