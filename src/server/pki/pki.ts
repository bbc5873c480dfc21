import { partUser } from '../access/part-user.ts';
import type { Authority } from './authority.ts';
import { createAuthority, readAuthority, rotateAuthority, trusted, withChain } from './authority.ts';
import { makePrivateDirectory } from './files.ts';
import type { KeyPair, Subject } from './issue.ts';
import { issue } from './issue.ts';
import { readPair, writePair } from './pairs.ts';
import { renewalReason } from './renewal.ts';

/** The certificates of one data directory. */
export interface Pki {
  /** What clients and servers trust, PEM: the authority, and the one before it while that is being replaced. */
  readonly ca: string;
  readonly admin: KeyPair;
  /** Part of Fairlead → what it shows to API servers. */
  readonly parts: ReadonlyMap<string, KeyPair>;
  /** Cluster name → what its API server presents. */
  readonly serving: ReadonlyMap<string, KeyPair>;
  /** What was made anew, and why: file name → reason. Empty on most starts. */
  readonly renewed: ReadonlyMap<string, string>;
}

/** One API server that needs a certificate. */
export interface ServingRequest {
  readonly cluster: string;
  /** The first address of each Service range: where the `kubernetes` Service is. */
  readonly serviceIps: readonly string[];
  /** Names and addresses beyond loopback under which it is reached. */
  readonly extra?: { readonly dns: readonly string[]; readonly ips: readonly string[] };
}

export interface PkiOptions {
  readonly directory: string;
  readonly serving: readonly ServingRequest[];
  /** The parts that need an identity of their own; none by default. */
  readonly parts?: readonly string[];
  readonly now: Date;
}

const leafDays = 365;
const adminSubject: Subject = { use: 'client', commonName: 'kubernetes-admin', groups: ['system:masters'] };

/**
 * Reads the certificates of a directory and makes those that are missing, near expiry or for other names. An authority
 * near its end is rotated, so that nobody is cut off.
 */
export async function ensurePki({ directory, serving, parts = [], now }: PkiOptions): Promise<Pki> {
  await makePrivateDirectory(directory);
  const renewed = new Map<string, string>();
  const authority = await ensureAuthority(directory, now, renewed);
  const ensure = async (name: string, subject: Subject): Promise<KeyPair> => {
    const stored = await readPair(directory, name);
    const reason = renewalReason(stored, { ca: authority.pair.cert, subject }, now);
    if (reason === undefined && stored !== undefined) return stored;
    const made = await issue(authority.pair, subject, { now, days: leafDays });
    await writePair(directory, name, made);
    renewed.set(name, reason ?? 'missing');
    return made;
  };
  const [admin, servingPairs, partPairs] = await Promise.all([
    ensure('admin', adminSubject),
    Promise.all(
      serving.map(async (request): Promise<[string, KeyPair]> => {
        const pair = await ensure(`apiserver-${request.cluster}`, servingSubject(request));
        return [request.cluster, withChain(authority, pair)];
      }),
    ),
    Promise.all(
      parts.map(async (part): Promise<[string, KeyPair]> => [
        part,
        await ensure(`part-${part}`, { use: 'client', commonName: partUser(part), groups: [] }),
      ]),
    ),
  ]);
  return { ca: trusted(authority), admin, serving: new Map(servingPairs), parts: new Map(partPairs), renewed };
}

async function ensureAuthority(directory: string, now: Date, renewed: Map<string, string>): Promise<Authority> {
  const stored = await readAuthority(directory);
  const reason = renewalReason(stored?.pair, { ca: undefined, subject: undefined }, now);
  if (stored !== undefined && reason === undefined) return stored;
  renewed.set('ca', reason ?? 'missing');
  return stored !== undefined && reason === 'near expiry'
    ? rotateAuthority(directory, stored.pair, now)
    : createAuthority(directory, now);
}

/** The names under which clients reach an API server, from this machine and from inside its cluster. */
function servingSubject({ serviceIps, extra }: ServingRequest): Subject {
  return {
    use: 'server',
    commonName: 'kube-apiserver',
    names: {
      dns: [
        'localhost',
        'kubernetes',
        'kubernetes.default',
        'kubernetes.default.svc',
        'kubernetes.default.svc.cluster.local',
        ...(extra?.dns ?? []),
      ],
      ips: ['127.0.0.1', '::1', ...serviceIps, ...(extra?.ips ?? [])],
    },
  };
}
