// Validates addresses and CIDRs in fields: errors and warnings, worded as in Kubernetes.
import type { Address } from './addresses.ts';
import { contains, parseAddress, parseCidr, printAddress, printCidr, bitsOf } from './addresses.ts';

const none: readonly string[] = [];
const notAnAddress: readonly string[] = ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];
const notACidr: readonly string[] = ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];

/** Errors of an address in a field that accepts non-canonical forms, unless `strict` (gate StrictIPCIDRValidation). */
export function addressErrors(text: string, strict: boolean): readonly string[] {
  const address = parseAddress(text);
  if (address === undefined) return notAnAddress;
  return strict ? strictErrors(address) : none;
}

function strictErrors({ hasLeadingZeros, isMapped }: Address): readonly string[] {
  if (hasLeadingZeros) return ['must not have leading 0s'];
  return isMapped ? ['must not be an IPv4-mapped IPv6 address'] : none;
}

/** Errors of an address in a field that accepts only the canonical form. */
export function canonicalAddressErrors(text: string): readonly string[] {
  const address = parseAddress(text);
  if (address === undefined) return notAnAddress;
  const errors = strictErrors(address);
  if (errors.length > 0) return errors;
  const canonical = printAddress(address.family, address.value);
  return canonical === text ? none : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/** Errors of a CIDR in a field that accepts non-canonical forms, unless `strict` (gate StrictIPCIDRValidation). */
export function cidrErrors(text: string, strict: boolean): readonly string[] {
  const cidr = parseCidr(text);
  if (cidr === undefined) return notACidr;
  if (!strict) return none;
  if (cidr.hasLeadingZeros) return ['must not have leading 0s in IP or prefix length'];
  if (cidr.isMapped) return ['must not have an IPv4-mapped IPv6 address'];
  return cidr.network === cidr.address ? none : ['must not have bits set beyond the prefix length'];
}

/** Errors of a CIDR in a field that accepts only the canonical form. */
export function canonicalCidrErrors(text: string): readonly string[] {
  const errors = cidrErrors(text, true);
  const cidr = parseCidr(text);
  if (errors.length > 0 || cidr === undefined) return errors;
  const canonical = printCidr(cidr);
  return canonical === text ? none : [`must be in canonical form (${JSON.stringify(canonical)})`];
}

/**
 * Errors of the address of an endpoint, which must not have host or link scope. Addresses in the CIDRs
 * `loopbackEndpoints` are accepted nevertheless.
 */
export function endpointAddressErrors(text: string, loopbackEndpoints: readonly string[]): readonly string[] {
  const address = parseAddress(text);
  if (address === undefined) return ['must be a valid IP address'];
  if (address.value === 0n) return [`may not be unspecified (${text})`];
  switch (scopeOf(address)) {
    case 'global':
      return none;
    case 'loopback':
      return isAccepted(address, loopbackEndpoints)
        ? none
        : ['may not be in the loopback range (127.0.0.0/8, ::1/128)'];
    case 'link-local':
      return ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'];
    case 'link-local multicast':
      return ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'];
  }
}

const isAccepted = (address: Address, cidrs: readonly string[]): boolean =>
  cidrs.some((text) => {
    const cidr = parseCidr(text);
    return cidr !== undefined && contains(cidr, address);
  });

type Scope = 'global' | 'loopback' | 'link-local' | 'link-local multicast';

function scopeOf({ family, value }: Address): Scope {
  if (family === 'IPv4') {
    const number = Number(value);
    if (number >>> 24 === 127) return 'loopback';
    if (number >>> 16 === 0xa9fe) return 'link-local';
    return number >>> 8 === 0xe00000 ? 'link-local multicast' : 'global';
  }
  if (value === 1n) return 'loopback';
  if (value >> 118n === 0xfe80n >> 6n) return 'link-local';
  // ff0f::/16 masks the flags; scope 2 is link-local.
  return ((value >> 112n) & 0xff0fn) === 0xff02n ? 'link-local multicast' : 'global';
}

/** Warnings about an address that is accepted. */
export function addressWarnings(path: string, text: string): readonly string[] {
  const address = parseAddress(text);
  if (address === undefined) return none;
  const canonical = printAddress(address.family, address.value);
  if (address.hasLeadingZeros || address.isMapped) {
    return [
      `${path}: non-standard IP address "${text}" will be considered invalid in a future Kubernetes release: use "${canonical}"`,
    ];
  }
  if (address.family === 'IPv4' || canonical === text) return none;
  return [`${path}: IPv6 address "${text}" should be in RFC 5952 canonical format ("${canonical}")`];
}

/** Warnings about a CIDR that is accepted. */
export function cidrWarnings(path: string, text: string): readonly string[] {
  const cidr = parseCidr(text);
  if (cidr === undefined) return none;
  const canonical = printCidr(cidr);
  const warnings: string[] = [];
  if (cidr.network !== cidr.address) {
    const single = `${printAddress(cidr.family, cidr.address)}/${bitsOf(cidr.family)}`;
    warnings.push(
      `${path}: CIDR value "${text}" is ambiguous in this context (should be "${canonical}" or "${single}"?)`,
    );
  }
  if (cidr.hasLeadingZeros || cidr.isMapped) {
    warnings.push(
      `${path}: non-standard CIDR value "${text}" will be considered invalid in a future Kubernetes release: use "${canonical}"`,
    );
  }
  if (warnings.length === 0 && cidr.family === 'IPv6' && canonical !== text) {
    warnings.push(`${path}: IPv6 CIDR value "${text}" should be in RFC 5952 canonical format ("${canonical}")`);
  }
  return warnings;
}
