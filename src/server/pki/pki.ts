import { join } from 'node:path';

import { frontProxyClientName, kubeletClientUser, partUser } from '../access/identity/users.ts';
import type { Authority } from './authority.ts';
import {
  completeAuthority,
  createAuthority,
  readAuthority,
  rotateAuthority,
  trustedCertificates,
  withCrossCertificates,
} from './authority.ts';
import { makePrivateDirectory, readPair, writePair } from './files.ts';
import type { KeyPair, Subject } from './issue.ts';
import { issue, issueCa } from './issue.ts';
import { renewalReason } from './renewal.ts';

/** The certificates of one cluster. */
export interface Pki {
  /** The trusted authorities, PEM: the current one, and previous ones during a rotation. */
  readonly ca: string;
  readonly admin: KeyPair;
  /** The client certificate of the API server at the servers of nodes. */
  readonly kubeletClient: KeyPair;
  /** How the API server proves to aggregated API servers that it passes requests on. */
  readonly frontProxy: FrontProxyPki;
  /** Part → its client certificate. */
  readonly parts: ReadonlyMap<string, KeyPair>;
  /** The certificate of the API server. */
  readonly serving: KeyPair;
  /** The issued certificates: file name → reason. Empty on most starts. */
  readonly renewed: ReadonlyMap<string, string>;
}

/** A client certificate, and the authority that issues no other certificate than this one. */
export interface FrontProxyPki extends KeyPair {
  readonly ca: string;
}

export interface PkiOptions {
  /** The directory of one cluster, since a certificate of one cluster must not be valid for another. */
  readonly directory: string;
  readonly cluster: string;
  /** The first address of each Service range, which the `kubernetes` Service has. */
  readonly serviceIps: readonly string[];
  /** Further names and addresses of the server, beside loopback. */
  readonly extra?: { readonly dns: readonly string[]; readonly ips: readonly string[] };
  /** The parts that need their own identity; default: none. */
  readonly parts?: readonly string[];
  readonly now: Date;
}

const leafDays = 365;
const frontProxyCaDays = 3650;
const adminSubject: Subject = { use: 'client', commonName: 'kubernetes-admin', groups: ['system:masters'] };

/** Its user may do everything on the servers of nodes, and nothing else. */
const kubeletClientSubject: Subject = { use: 'client', commonName: kubeletClientUser, groups: [] };

/** Aggregated API servers trust its certificate to name any user. */
const frontProxySubject: Subject = { use: 'client', commonName: frontProxyClientName, groups: [] };

/**
 * Reads the certificates of a cluster and issues those that are missing, near expiry or have other names. An authority
 * near expiry is rotated, so that no client is disconnected.
 */
export async function ensurePki(options: PkiOptions): Promise<Pki> {
  const { directory, parts = [], now } = options;
  await makePrivateDirectory(directory);
  const renewed = new Map<string, string>();
  const authority = await ensureAuthority(options, renewed);
  const ensure = async (name: string, subject: Subject, ca = authority.pair): Promise<KeyPair> => {
    const stored = await readPair(directory, name);
    const reason = renewalReason(stored, { ca: ca.cert, subject }, now);
    if (reason === undefined && stored !== undefined) return stored;
    const made = await issue(ca, subject, { now, days: leafDays });
    await writePair(directory, name, made);
    renewed.set(name, reason ?? 'missing');
    return made;
  };
  const ensureFrontProxy = async (): Promise<FrontProxyPki> => {
    const ca = await ensureFrontProxyCa(options, renewed);
    return { ca: ca.cert, ...(await ensure('front-proxy-client', frontProxySubject, ca)) };
  };
  const [admin, kubeletClient, frontProxy, serving, partPairs] = await Promise.all([
    ensure('admin', adminSubject),
    ensure('apiserver-kubelet-client', kubeletClientSubject),
    ensureFrontProxy(),
    ensure('apiserver', servingSubject(options)),
    Promise.all(
      parts.map(async (part): Promise<[string, KeyPair]> => [
        part,
        await ensure(`part-${part}`, { use: 'client', commonName: partUser(part), groups: [] }),
      ]),
    ),
  ]);
  return {
    ca: trustedCertificates(authority),
    admin,
    kubeletClient,
    frontProxy,
    serving: withCrossCertificates(authority, serving),
    parts: new Map(partPairs),
    renewed,
  };
}

async function ensureAuthority(
  { directory, cluster, now }: PkiOptions,
  renewed: Map<string, string>,
): Promise<Authority> {
  await completeAuthority(directory);
  const stored = await readAuthority(directory);
  const reason = renewalReason(stored?.pair, { ca: undefined, subject: undefined }, now);
  if (stored !== undefined && reason === undefined) return stored;
  if (stored !== undefined && reason !== 'near expiry') {
    // A new authority would disconnect every client.
    throw new Error(
      `${join(directory, 'ca.crt')} and ca.key cannot be used (${reason}): restore them from a backup, or remove both ` +
        'to begin with a new authority, after which kubeconfigs that were issued before no longer work',
    );
  }
  renewed.set('ca', reason ?? 'missing');
  return stored === undefined
    ? createAuthority(directory, cluster, now)
    : rotateAuthority(directory, { cluster, old: stored, now });
}

/**
 * The authority of the front proxy is not that of clients, so that no other certificate can name users. A new one needs no
 * rotation: servers read from the cluster which authorities they trust.
 */
async function ensureFrontProxyCa(
  { directory, cluster, now }: PkiOptions,
  renewed: Map<string, string>,
): Promise<KeyPair> {
  const name = 'front-proxy-ca';
  const stored = await readPair(directory, name);
  const reason = renewalReason(stored, { ca: undefined, subject: undefined }, now);
  if (reason === undefined && stored !== undefined) return stored;
  const made = await issueCa(`fairlead-${name}-${cluster.slice(0, 32)}`, { now, days: frontProxyCaDays });
  await writePair(directory, name, made);
  renewed.set(name, reason ?? 'missing');
  return made;
}

/** The names under which clients reach an API server, from this machine and from inside its cluster. */
function servingSubject({ serviceIps, extra }: PkiOptions): Subject {
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
