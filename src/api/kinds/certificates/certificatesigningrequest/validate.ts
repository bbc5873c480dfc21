import { X509Certificate } from 'node:crypto';

import { messageOf } from '../../../error-message.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidValue, notSupported, required, tooLong } from '../../../field-errors.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../../../names.ts';
import { conditionsOf } from './conditions.ts';
import { firstPemBlock } from './pem.ts';
import { readRequest } from './pkcs10.ts';
import type { CertificateSigningRequest } from './schema.ts';

const usages: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

const decisions: readonly string[] = ['Approved', 'Denied'];
const outcomes: readonly string[] = [...decisions, 'Failed'];

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1');

/** Validates a new request. Its status is empty. */
export const createErrors = ({ spec }: CertificateSigningRequest): FieldError[] => [
  ...requestErrors(spec.request),
  ...usageErrors(spec.usages ?? []),
  ...signerErrors(spec.signerName),
  ...(spec.expirationSeconds !== undefined && spec.expirationSeconds < 600
    ? [
        invalidValue(
          'spec.expirationSeconds',
          spec.expirationSeconds,
          'may not specify a duration less than 600 seconds (10 minutes)',
        ),
      ]
    : []),
];

function requestErrors(request: string): FieldError[] {
  try {
    readRequest(textOf(request));
    return [];
  } catch (error) {
    return [invalidValue('spec.request', request, messageOf(error))];
  }
}

function usageErrors(given: readonly string[]): FieldError[] {
  const path = 'spec.usages';
  return [
    ...(given.length === 0 ? [required(path)] : []),
    ...given.flatMap((usage, index) =>
      usages.includes(usage) ? [] : [notSupported(`${path}[${index}]`, usage, usages)],
    ),
    ...given.flatMap((usage, index) => (given.indexOf(usage) < index ? [duplicate(`${path}[${index}]`, usage)] : [])),
  ];
}

const maxDomainBytes = 253;
const maxSignerBytes = maxDomainBytes + 1 + 253 + 63 + 1;

/** A signer is named by a domain and a path, such as kubernetes.io/kubelet-serving. */
function signerErrors(signer: string): FieldError[] {
  const path = 'spec.signerName';
  if (signer === '') return [required(path)];
  if (signer === 'kubernetes.io/legacy-unknown') {
    return [invalidValue(path, signer, 'the legacy signerName is not allowed via this API version')];
  }
  const [domain = '', name, ...more] = signer.split('/');
  if (name === undefined || more.length > 0) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalidValue(path, signer, why)];
  }
  const firstBad = (part: string, errors: (label: string) => readonly string[]): FieldError[] => {
    const label = part.split('.').find((each) => errors(each).length > 0);
    if (label === undefined) return [];
    return errors(label).map((error) =>
      invalidValue(path, part, `validating label ${JSON.stringify(label)}: ${error}`),
    );
  };
  return [
    ...(Buffer.byteLength(domain) > maxDomainBytes ? [tooLong(path, maxDomainBytes)] : []),
    ...firstBad(domain, dnsLabelErrors),
    ...(domain.includes('.')
      ? []
      : [invalidValue(path, domain, 'should be a domain with at least two segments separated by dots')]),
    ...firstBad(name, dnsSubdomainErrors),
    ...(Buffer.byteLength(signer) > maxSignerBytes ? [tooLong(path, maxSignerBytes)] : []),
  ];
}

/** Which part of the status an endpoint may change. */
export type StatusPart = 'conditions' | 'certificate';

/** Validates a changed status. The spec is that of the stored object. */
export function statusErrors(
  object: CertificateSigningRequest,
  old: CertificateSigningRequest,
  part: StatusPart,
): FieldError[] {
  return [
    ...conditionErrors(object, old),
    ...certificateErrors(object, old),
    ...removalErrors(object, old),
    ...(part === 'conditions' ? [] : additionErrors(object, old)),
    ...replacementErrors(object, old, part),
  ];
}

function conditionErrors(
  { status: { conditions = [] } }: CertificateSigningRequest,
  old: CertificateSigningRequest,
): FieldError[] {
  const path = 'status.conditions';
  const wereExclusive = !decisions.every((type) => conditionsOf(old, type).length > 0);
  const types = conditions.map(({ type }) => type);
  return conditions.flatMap(({ type, status }, index) => {
    const at = `${path}[${index}]`;
    const allowed = outcomes.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
    const before = types.slice(0, index);
    const isBoth = decisions.includes(type) && before.some((other) => other !== type && decisions.includes(other));
    return [
      ...(type === '' ? [required(`${at}.type`)] : []),
      ...(status === '' ? [required(`${at}.status`)] : []),
      ...(status === '' || allowed.includes(status) ? [] : [notSupported(`${at}.status`, status, allowed)]),
      ...(isBoth && wereExclusive
        ? [invalidValue(path, type, 'Approved and Denied conditions are mutually exclusive')]
        : []),
      ...(before.includes(type) ? [duplicate(`${at}.type`, type)] : []),
    ];
  });
}

function certificateErrors({ status }: CertificateSigningRequest, old: CertificateSigningRequest): FieldError[] {
  const { certificate = '' } = status;
  if (certificate === '' || certificate === old.status.certificate) return [];
  const why = problemOfChain(textOf(certificate));
  return why === undefined ? [] : [invalidValue('status.certificate', '<certificate data>', why)];
}

/** What is wrong with certificates in PEM. */
function problemOfChain(pem: string): string | undefined {
  let block = firstPemBlock(pem);
  if (block === undefined) return 'must contain at least one CERTIFICATE PEM block';
  for (; block !== undefined; block = firstPemBlock(block.rest)) {
    if (block.type !== 'CERTIFICATE') {
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(block.type)}`;
    }
    if (block.hasHeaders) return 'no PEM block headers are permitted';
    if (block.der.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    if (!isCertificate(block.der)) return 'x509: malformed certificate';
  }
  return undefined;
}

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).raw.length > 0;
  } catch {
    return false;
  }
}

const removalErrors = (object: CertificateSigningRequest, old: CertificateSigningRequest): FieldError[] =>
  outcomes
    .filter((type) => conditionsOf(object, type).length < conditionsOf(old, type).length)
    .map((type) => forbiddenField('status.conditions', `updates may not remove a condition of type "${type}"`));

const additionErrors = (object: CertificateSigningRequest, old: CertificateSigningRequest): FieldError[] =>
  decisions
    .filter((type) => conditionsOf(object, type).length > conditionsOf(old, type).length)
    .map((type) => forbiddenField('status.conditions', `updates may not add a condition of type "${type}"`));

function replacementErrors(
  { status: { certificate = '' } }: CertificateSigningRequest,
  { status: { certificate: before = '' } }: CertificateSigningRequest,
  part: StatusPart,
): FieldError[] {
  const path = 'status.certificate';
  if (certificate === before) return [];
  if (part !== 'certificate') return [forbiddenField(path, 'updates may not set certificate content')];
  return before === '' ? [] : [forbiddenField(path, 'updates may not modify existing certificate content')];
}
