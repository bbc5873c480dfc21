import type { webcrypto } from 'node:crypto';

/** A certificate and its private key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** The validity of a certificate. It starts a day in the past, for machines whose clocks are behind. */
export interface Validity {
  readonly now: Date;
  readonly days: number;
}

const dayMs = 24 * 60 * 60_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Creates a self-signed certificate authority. */
export async function issueCa(commonName: string, validity: Validity): Promise<KeyPair> {
  const { x509, crypto } = await loadX509();
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const { KeyUsageFlags } = x509;
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    serialNumber: randomSerial(crypto),
    ...datesOf(validity),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: cert.toString('pem'), key: await privatePem(crypto, keys.privateKey) };
}

/**
 * Cross-signs `ca`: clients that trust only `signer` then also trust certificates of `ca`.
 */
export async function crossSign(ca: string, signer: KeyPair, validity: Validity): Promise<string> {
  const { x509, crypto } = await loadX509();
  const subject = new x509.X509Certificate(ca);
  const issuer = new x509.X509Certificate(signer.cert);
  const publicKey = await subject.publicKey.export(crypto as globalThis.Crypto);
  const { KeyUsageFlags } = x509;
  const cert = await x509.X509CertificateGenerator.create({
    subject: subject.subjectName,
    issuer: issuer.subjectName,
    serialNumber: randomSerial(crypto),
    ...datesOf(validity),
    signingAlgorithm: algorithm,
    publicKey,
    signingKey: await importPrivatePem(crypto, signer.key),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return cert.toString('pem');
}

/** The subject of a certificate: a server with its names and addresses, a user with its groups, or a peer, which is client and server. */
export type Subject =
  | { readonly use: 'server'; readonly commonName: string; readonly names: SubjectNames }
  | { readonly use: 'client'; readonly commonName: string; readonly groups: readonly string[] }
  | { readonly use: 'peer'; readonly commonName: string };

/** The names and addresses under which clients reach a server. */
export interface SubjectNames {
  readonly dns: readonly string[];
  readonly ips: readonly string[];
}

/** Issues a certificate for `subject`, signed by `ca`. */
export async function issue(ca: KeyPair, subject: Subject, validity: Validity): Promise<KeyPair> {
  const { x509, crypto } = await loadX509();
  const issuer = new x509.X509Certificate(ca.cert);
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const name = [
    ...(subject.use === 'client' ? subject.groups.map((group) => ({ O: [group] })) : []),
    { CN: [subject.commonName] },
  ];
  const usages = { server: ['serverAuth'], client: ['clientAuth'], peer: ['serverAuth', 'clientAuth'] } as const;
  const cert = await x509.X509CertificateGenerator.create({
    subject: name,
    issuer: issuer.subjectName,
    serialNumber: randomSerial(crypto),
    ...datesOf(validity),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await importPrivatePem(crypto, ca.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usages[subject.use].map((usage) => x509.ExtendedKeyUsage[usage])),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(subject.use === 'server' ? [new x509.SubjectAlternativeNameExtension(alternativeNames(subject.names))] : []),
    ],
  });
  return { cert: cert.toString('pem'), key: await privatePem(crypto, keys.privateKey) };
}

type Crypto = webcrypto.Crypto;

/** Loaded on demand: the library takes hundreds of milliseconds, and most starts issue no certificate. */
async function loadX509() {
  await import('reflect-metadata'); // the library throws without it
  const [x509, { webcrypto: crypto }] = await Promise.all([import('@peculiar/x509'), import('node:crypto')]);
  x509.cryptoProvider.set(crypto as globalThis.Crypto); // the same object under Node's name for its type
  return { x509, crypto };
}

const alternativeNames = ({ dns, ips }: SubjectNames) => [
  ...dns.map((value) => ({ type: 'dns' as const, value })),
  ...ips.map((value) => ({ type: 'ip' as const, value })),
];

const datesOf = ({ now, days }: Validity): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(now.getTime() - dayMs),
  notAfter: new Date(now.getTime() + days * dayMs),
});

/** 16 random bytes in hex; the first is in 0x40..0x7f, so that the number is positive. */
function randomSerial(crypto: Crypto): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return Buffer.from(bytes).toString('hex');
}

async function privatePem(crypto: Crypto, key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', key));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
}

function importPrivatePem(crypto: Crypto, pem: string): Promise<webcrypto.CryptoKey> {
  const der = Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  return crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
}
