import { X509Certificate } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listKeys } from '../../server/access/identity/key-directory.ts';
import type { Authority } from '../../server/pki/authority.ts';
import { readCertificate } from '../../server/pki/renewal.ts';
import { tokenKeys } from '../up/servers.ts';
import { pkiOf } from '../up/stored-clusters.ts';
import { compareText } from '../../api/order.ts';

/** One certificate of a data directory, or one key of tokens. */
export interface InventoryRow {
  readonly name: string;
  readonly subject: string;
  /** RFC 3339; undefined for keys, which do not expire. */
  readonly expires?: string;
  readonly note: string;
}

/** All certificates and keys of a data directory. */
export async function inventory(
  dataDir: string,
  authorities: ReadonlyMap<string, Authority>,
  now: Date,
): Promise<readonly InventoryRow[]> {
  const rows = await Promise.all(
    Array.from(authorities, ([cluster, { pair }]) =>
      certificates(pkiOf(dataDir, cluster), { cluster, ca: new X509Certificate(pair.cert) }, now),
    ),
  );
  return [...rows.flat(), ...(await keys(dataDir))];
}

async function certificates(
  path: string,
  { cluster, ca }: { readonly cluster: string; readonly ca: X509Certificate },
  now: Date,
): Promise<readonly InventoryRow[]> {
  const names = (await readdir(path)).filter((name) => name.endsWith('.crt')).toSorted(authorityFirst);
  const read = await Promise.all(
    names.map(async (file) => ({
      role: file.slice(0, -'.crt'.length),
      cert: readCertificate(await readFile(join(path, file), 'utf8')),
    })),
  );
  const frontProxy = read.find(({ role }) => role === frontProxyCa)?.cert;
  return read.map(({ role, cert }) => {
    const name = `${cluster}/${role}`;
    if (cert === undefined) return { name, subject: '', note: 'unreadable: the next start issues a new one' };
    return {
      name,
      subject: cert.subject.split('\n').join(', '),
      expires: cert.validToDate.toISOString(),
      note: [roles[role] ?? '', issuerNote(role, cert, { ca, frontProxy }), left(cert, now)]
        .filter((part) => part !== '')
        .join(', '),
    };
  });
}

interface Issuers {
  readonly ca: X509Certificate;
  /** The authority of the aggregation layer; undefined if it is missing or unreadable. */
  readonly frontProxy: X509Certificate | undefined;
}

/** A note about a certificate that the authority of the cluster did not issue. */
function issuerNote(role: string, cert: X509Certificate, { ca, frontProxy }: Issuers): string {
  if (rotated.has(role)) return '';
  if (role === frontProxyCa && cert.issuer === cert.subject) return '';
  if (role === frontProxyClient && cert.issuer === frontProxy?.subject) return `issued by ${frontProxyCa}`;
  return cert.issuer === ca.subject && role !== frontProxyClient ? '' : 'issued by another authority';
}

const frontProxyCa = 'front-proxy-ca';
const frontProxyClient = 'front-proxy-client';

const roles: Readonly<Record<string, string>> = {
  ca: 'signs, trusted',
  [frontProxyCa]: 'authority of the aggregation layer',
  'ca-previous': 'still trusted',
  'ca-cross': 'lets clients of the previous authority trust servers',
};
/** Certificates of a rotation, which two authorities take part in. */
const rotated: ReadonlySet<string> = new Set(['ca-previous', 'ca-cross']);

const authorityFirst = (left: string, right: string): number =>
  Number(right.startsWith('ca')) - Number(left.startsWith('ca')) || compareText(left, right);

function left(cert: X509Certificate, now: Date): string {
  const days = Math.floor((cert.validToDate.getTime() - now.getTime()) / 86_400_000);
  return days < 0 ? 'expired' : `${days} days left`;
}

async function keys(dataDir: string): Promise<readonly InventoryRow[]> {
  const root = join(dataDir, tokenKeys);
  const clusters = await readdir(root).catch(() => []); // none before the first start
  const lists = await Promise.all(
    clusters.toSorted(compareText).map(async (cluster) => {
      const found = await listKeys(join(root, cluster));
      return found.keys.map(({ kid, created }, index) => ({
        name: `${cluster}/tokens`,
        subject: kid,
        note: `${index === 0 ? 'signs' : 'verifies'}, created ${new Date(created).toISOString().slice(0, 10)}`,
      }));
    }),
  );
  return lists.flat();
}
