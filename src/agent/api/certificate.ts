import { createPrivateKey, X509Certificate, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';

import { fileErrorOf } from '../../api/error-message.ts';
import { replaceFile } from '../../machine/replace-file.ts';
import { setInterval } from '../../machine/timers.ts';
import type { NodeServerOptions } from '../pods/runtime.ts';

/** A certificate with its key, PEM. */
interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** The certificate of the server, which may change. */
export interface ServingCertificate extends Disposable {
  current(): Pair;
  /** Calls back with every later certificate. */
  onChange(listener: (pair: Pair) => void): void;
  problems(): readonly string[];
}

const dayMs = 24 * 60 * 60_000;
const validDays = 365;
/** A certificate of our own is replaced when less than this is left. */
const renewBeforeMs = 30 * dayMs;
const checkMs = 60_000;

/** Reads the certificate of the given files; without files, signs one itself as a kubelet does, and renews it. */
export async function servingCertificate(options: NodeServerOptions): Promise<ServingCertificate> {
  const { tls, log } = options;
  const load = tls === undefined ? () => ownPair(options) : () => readPair(tls.certFile, tls.keyFile);
  let pair = await load();
  let problem: string | undefined;
  const listeners: ((pair: Pair) => void)[] = [];
  const check = async (): Promise<void> => {
    try {
      const next = await load();
      problem = undefined;
      if (next.cert === pair.cert) return;
      pair = next;
      for (const listener of listeners) listener(pair);
      log.info('the certificate of the server has changed');
    } catch (error) {
      // The last one stays in use.
      problem = `the certificate of the server cannot be renewed: ${fileErrorOf(error)}`;
    }
  };
  const timer = setInterval(() => void check(), checkMs).unref();
  return {
    current: () => pair,
    onChange: (listener) => void listeners.push(listener),
    problems: () => (problem === undefined ? [] : [problem]),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

async function readPair(certFile: string, keyFile: string): Promise<Pair> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  const certificate = new X509Certificate(cert);
  // Otherwise every handshake fails.
  if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error(`${keyFile} is not the key of ${certFile}`);
  return { cert, key };
}

/** The stored certificate, or a new one if there is none that is valid for long enough and for all addresses. */
async function ownPair({ directory, nodeName, addresses }: NodeServerOptions): Promise<Pair> {
  const [certFile, keyFile] = [join(directory, 'server.crt'), join(directory, 'server.key')];
  const stored = await readPair(certFile, keyFile).catch(() => undefined); // missing or damaged: it is replaced
  if (stored !== undefined && isUsable(new X509Certificate(stored.cert), [nodeName, ...addresses])) return stored;
  const made = await selfSigned(nodeName, addresses);
  await replaceFile(keyFile, made.key, 0o600);
  await replaceFile(certFile, made.cert, 0o600);
  return made;
}

const isUsable = (certificate: X509Certificate, names: readonly string[]): boolean =>
  certificate.validToDate.getTime() - Date.now() > renewBeforeMs &&
  names.every((name) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined);

async function selfSigned(nodeName: string, addresses: readonly string[]): Promise<Pair> {
  // Loaded on demand: the library takes hundreds of milliseconds, and most starts issue no certificate.
  await import('reflect-metadata'); // the library throws without it
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as globalThis.Crypto); // the same object under Node's name for its type
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const names = [...new Set([nodeName, ...addresses])];
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ O: ['system:nodes'] }, { CN: [`system:node:${nodeName}`] }],
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + validDays * dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value }))),
    ],
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const key = `-----BEGIN PRIVATE KEY-----\n${(der.match(/.{1,64}/g) ?? []).join('\n')}\n-----END PRIVATE KEY-----\n`;
  return { cert: certificate.toString('pem'), key };
}
