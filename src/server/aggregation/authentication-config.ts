// The ConfigMap from which aggregated servers read how this server authenticates users and itself.

import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { frontProxyClientName } from '../access/identity/users.ts';
import { ensureObject } from '../bootstrap/bootstrap.ts';
import type { ServerContext } from '../context.ts';
import { readCertificates } from '../pki/renewal.ts';

const place = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };

/** What aggregated servers have to trust. */
export interface Authorities {
  /** The authorities of client certificates, PEM. */
  readonly clientCa: string;
  /** The authority of the front proxy; undefined: there is none. */
  readonly frontProxyCa: string | undefined;
}

/** The data of the ConfigMap, as kube-apiserver writes it. */
export function authenticationData(
  { clientCa, frontProxyCa }: Authorities,
  { old = {}, now }: { readonly old?: Readonly<Record<string, string>>; readonly now: Date },
): Record<string, string> {
  const data: Record<string, string> = {
    ...old,
    'client-ca-file': joined(old['client-ca-file'] ?? '', clientCa, now),
  };
  if (frontProxyCa === undefined) return data;
  return {
    ...data,
    'requestheader-allowed-names': JSON.stringify([frontProxyClientName]),
    'requestheader-client-ca-file': joined(old['requestheader-client-ca-file'] ?? '', frontProxyCa, now),
    'requestheader-extra-headers-prefix': JSON.stringify(['X-Remote-Extra-']),
    'requestheader-group-headers': JSON.stringify(['X-Remote-Group']),
    'requestheader-uid-headers': JSON.stringify(['X-Remote-Uid']),
    'requestheader-username-headers': JSON.stringify(['X-Remote-User']),
  };
}

/** Both lists of certificates, each once, without expired ones of the first, which other servers wrote. */
function joined(others: string, own: string, now: Date): string {
  const ownCertificates = certificatesIn(own);
  if (ownCertificates.length === 0) return own;
  const kept = certificatesIn(others).filter(
    ({ validToDate, raw }) => validToDate > now && !ownCertificates.some((each) => each.raw.equals(raw)),
  );
  return [...kept, ...ownCertificates].map((certificate) => certificate.toString()).join('');
}

function certificatesIn(pem: string): ReturnType<typeof readCertificates> {
  try {
    return readCertificates(pem);
  } catch {
    return []; // damaged by whoever wrote it
  }
}

/** Writes the ConfigMap. Servers that share a store add to what others wrote. */
export async function ensureAuthenticationConfig(context: ServerContext, authorities: Authorities): Promise<void> {
  const { store, clock } = context;
  const now = new Date(clock());
  const dataFor = (old: ConfigMap['data']): Record<string, string> =>
    authenticationData(authorities, { now, ...(store.isShared && old ? { old } : {}) });
  const created = { metadata: place, data: dataFor(undefined) };
  await ensureObject(context, configMapKind, created, (old) => {
    const object = old as ConfigMap; // of its cache
    const data = dataFor(object.data);
    return equalJson(object.data, data) ? object : { ...object, data };
  });
}
