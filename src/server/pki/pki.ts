import { join } from 'node:path';
import { makePrivateDirectory, readIfPresent, writePrivateFile } from './files.ts';
import type { KeyPair, Subject } from './issue.ts';
import { issue, issueCa } from './issue.ts';
import { renewalReason } from './renewal.ts';

/** The certificates of one data directory. */
export interface Pki {
  /** The authority's certificate, PEM; clients and servers trust it. */
  readonly ca: string;
  readonly admin: KeyPair;
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
  readonly now: Date;
}

const caDays = 3650;
const leafDays = 365;
const adminSubject: Subject = { use: 'client', commonName: 'kubernetes-admin', groups: ['system:masters'] };

/** Reads the certificates of a directory and makes those that are missing, near expiry or for other names. */
export async function ensurePki({ directory, serving, now }: PkiOptions): Promise<Pki> {
  await makePrivateDirectory(directory);
  const renewed = new Map<string, string>();
  const ensure = async (name: string, ca: KeyPair | undefined, subject: Subject | undefined): Promise<KeyPair> => {
    const stored = await readPair(directory, name);
    const reason = renewalReason(stored, { ca: ca?.cert, subject }, now);
    if (reason === undefined && stored !== undefined) return stored;
    const made =
      ca === undefined || subject === undefined
        ? await issueCa('fairlead-ca', { now, days: caDays })
        : await issue(ca, subject, { now, days: leafDays });
    await writePair(directory, name, made);
    renewed.set(name, reason ?? 'missing');
    return made;
  };

  const ca = await ensure('ca', undefined, undefined);
  const [admin, ...pairs] = await Promise.all([
    ensure('admin', ca, adminSubject),
    ...serving.map((request) => ensure(`apiserver-${request.cluster}`, ca, servingSubject(request))),
  ]);
  const byCluster = new Map<string, KeyPair>();
  serving.forEach(({ cluster }, index) => {
    const pair = pairs[index];
    if (pair !== undefined) byCluster.set(cluster, pair);
  });
  return { ca: ca.cert, admin, serving: byCluster, renewed };
}

/** The names under which clients reach an API server, from this machine and from inside its cluster. */
export function servingSubject({ serviceIps, extra }: ServingRequest): Subject {
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

async function readPair(directory: string, name: string): Promise<KeyPair | undefined> {
  const [cert, key] = await Promise.all(pathsOf(directory, name).map(readIfPresent));
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** The key first: a certificate without its key would be taken for damage, a key alone for nothing. */
async function writePair(directory: string, name: string, pair: KeyPair): Promise<void> {
  const [certPath, keyPath] = pathsOf(directory, name);
  await writePrivateFile(keyPath, pair.key);
  await writePrivateFile(certPath, pair.cert);
}

const pathsOf = (directory: string, name: string): [cert: string, key: string] => [
  join(directory, `${name}.crt`),
  join(directory, `${name}.key`),
];
