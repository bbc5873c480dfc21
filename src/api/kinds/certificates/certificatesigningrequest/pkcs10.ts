// Reads and verifies certificate requests (PKCS #10, RFC 2986).
import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { firstPemBlock } from './pem.ts';

/** What is read of a certificate request. */
export interface CertificateRequest {
  /** The common name in its subject, which Kubernetes reads as the user; '' if there is none. */
  readonly commonName: string;
  /** The organizations in its subject, which Kubernetes reads as groups. */
  readonly organizations: readonly string[];
}

/**
 * Reads a request from PEM, and verifies that it was signed with the key it contains. Throws an error worded as in
 * Kubernetes.
 */
export function readRequest(pem: string): CertificateRequest {
  const block = firstPemBlock(pem);
  if (block?.type !== 'CERTIFICATE REQUEST') throw new Error('PEM block type must be CERTIFICATE REQUEST');
  const whole = elementAt(block.der, 0, tags.sequence);
  if (whole.end < block.der.length) throw new Error('asn1: syntax error: trailing data');
  const [content, algorithm, signature] = children(block.der, whole);
  const [, subject, key] = children(block.der, of(content, tags.sequence));
  const signed = {
    key: publicKeyOf(bytesOf(block.der, of(key, tags.sequence))),
    algorithm: children(block.der, of(algorithm, tags.sequence))[0],
    signature: bitsOf(block.der, of(signature, tags.bitString)),
  };
  const oid = block.der.subarray(of(signed.algorithm, tags.oid).start, signed.algorithm?.end).toString('hex');
  checkSignature(bytesOf(block.der, of(content, tags.sequence)), oid, signed);
  const name = of(subject, tags.sequence);
  const [commonName = ''] = attributesOf(block.der, name, oids.commonName).slice(-1);
  return { commonName, organizations: attributesOf(block.der, name, oids.organization) };
}

const tags = { sequence: 0x30, set: 0x31, oid: 0x06, bitString: 0x03 } as const;

/** An element of DER: its tag, and where it and its content are. */
interface Element {
  readonly tag: number;
  readonly outerStart: number;
  readonly start: number;
  readonly end: number;
}

/** Reads the element at `offset`, which ends at `limit` or before. */
function elementAt(der: Buffer, offset: number, tag?: number, limit = der.length): Element {
  const first = der[offset + 1];
  if (first === undefined || offset + 2 > limit) throw new Error('asn1: syntax error: sequence truncated');
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if (lengthBytes > 4) throw new Error('asn1: structure error: length too large');
  const start = offset + 2 + lengthBytes;
  const length = lengthBytes === 0 ? first & 0x7f : start > limit ? limit : der.readUIntBE(offset + 2, lengthBytes);
  if (start + length > limit) throw new Error('asn1: syntax error: data truncated');
  return of({ tag: der[offset] ?? 0, outerStart: offset, start, end: start + length }, tag);
}

/** The element, which must be there and have the tag. */
function of(element: Element | undefined, tag = element?.tag): Element {
  if (element === undefined) throw new Error('asn1: syntax error: sequence truncated');
  if (element.tag !== tag) throw new Error("asn1: structure error: tags don't match");
  return element;
}

function children(der: Buffer, parent: Element): readonly Element[] {
  const elements: Element[] = [];
  for (let offset = parent.start; offset < parent.end;) {
    const element = elementAt(der, offset, undefined, parent.end);
    elements.push(element);
    offset = element.end;
  }
  return elements;
}

const bytesOf = (der: Buffer, { outerStart, end }: Element): Buffer => der.subarray(outerStart, end);

/** The content of a bit string, which begins with the number of unused bits. */
function bitsOf(der: Buffer, { start, end }: Element): Buffer {
  if (der[start] !== 0) throw new Error('asn1: syntax error: invalid padding bits in BIT STRING');
  return der.subarray(start + 1, end);
}

function publicKeyOf(der: Buffer): KeyObject {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' });
  } catch (cause) {
    throw new Error('x509: failed to parse public key', { cause });
  }
}

/** The type of key and the digest of each signature algorithm, by object identifier. */
const algorithms = new Map<string, { readonly type: string; readonly digest?: string }>([
  ['2a864886f70d010105', { type: 'rsa', digest: 'sha1' }],
  ['2a864886f70d01010b', { type: 'rsa', digest: 'sha256' }],
  ['2a864886f70d01010c', { type: 'rsa', digest: 'sha384' }],
  ['2a864886f70d01010d', { type: 'rsa', digest: 'sha512' }],
  ['2a8648ce3d0401', { type: 'ec', digest: 'sha1' }],
  ['2a8648ce3d040302', { type: 'ec', digest: 'sha256' }],
  ['2a8648ce3d040303', { type: 'ec', digest: 'sha384' }],
  ['2a8648ce3d040304', { type: 'ec', digest: 'sha512' }],
  ['2b6570', { type: 'ed25519' }],
]);

const failures: Readonly<Record<string, string>> = {
  rsa: 'crypto/rsa: verification error',
  ec: 'x509: ECDSA verification failure',
  ed25519: 'x509: Ed25519 verification failure',
};

function checkSignature(
  data: Buffer,
  oid: string,
  { key, signature }: { readonly key: KeyObject; readonly signature: Buffer },
): void {
  const algorithm = algorithms.get(oid);
  if (algorithm === undefined || algorithm.type !== key.asymmetricKeyType) {
    throw new Error('x509: cannot verify signature: algorithm unimplemented');
  }
  if (!verify(algorithm.digest, data, key, signature)) throw new Error(failures[algorithm.type]);
}

/** The object identifiers 2.5.4.3 and 2.5.4.10. */
const oids = { commonName: '550403', organization: '55040a' } as const;

/** The values of an attribute. A subject is a sequence of sets of pairs of an object identifier and a string. */
function attributesOf(der: Buffer, subject: Element, oid: string): readonly string[] {
  return children(der, subject)
    .flatMap((set) => children(der, of(set, tags.set)))
    .flatMap((pair) => {
      const [type, value] = children(der, of(pair, tags.sequence));
      const hasType = der.subarray(of(type, tags.oid).start, type?.end).toString('hex') === oid;
      return hasType ? [der.subarray(of(value).start, value?.end).toString()] : [];
    });
}
