import { addressErrors } from '../../../address-errors.ts';
import { familyOf } from '../../../addresses.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { isExternalName, isHeadless } from './facts.ts';
import { sameList } from './normalize.ts';
import type { Service } from './schema.ts';

const families: readonly string[] = ['IPv4', 'IPv6'];
const policies: readonly string[] = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
const path = 'spec.clusterIPs';

/**
 * Validation errors of the cluster IPs, families and policy of a Service, without those of a change. Runs before
 * allocation, and again with the rest of validation. Addresses of `old` are accepted without validation.
 */
export function validateClusterIps(service: Service, context: WriteContext, old?: Service): FieldError[] {
  if (isExternalName(service)) return [];
  const errors: FieldError[] = [];
  checkPrimary(errors, service);
  checkFamilies(errors, service);
  const { clusterIPs = [] } = service.spec;
  if (clusterIPs.length === 0) return errors;
  const isReadable = checkAddresses(errors, clusterIPs, old?.spec.clusterIPs ?? [], context);
  if (clusterIPs.length > 2) errors.push(invalidValue(path, clusterIPs, 'may only hold up to 2 values'));
  if (isReadable) checkAgainstFamilies(errors, service, clusterIPs);
  return errors;
}

function checkPrimary(errors: FieldError[], { spec: { clusterIP = '', clusterIPs = [] } }: Service): void {
  if (clusterIP === '') {
    if (clusterIPs.length > 0) {
      errors.push(invalidValue(path, clusterIPs, 'must be empty when `clusterIP` is not specified'));
    }
  } else if (clusterIPs.length === 0) {
    errors.push(required(path));
  } else if (clusterIPs[0] !== clusterIP) {
    errors.push(invalidValue(path, clusterIPs, 'first value must match `clusterIP`'));
  }
}

function checkFamilies(errors: FieldError[], { spec: { ipFamilies = [], ipFamilyPolicy } }: Service): void {
  const seen = new Set<string>();
  ipFamilies.forEach((family, index) => {
    const at = `spec.ipFamilies[${index}]`;
    if (!families.includes(family)) errors.push(notSupported(at, family, families));
    if (seen.has(family)) errors.push(duplicate(at, family));
    seen.add(family);
  });
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy)) {
    errors.push(notSupported('spec.ipFamilyPolicy', ipFamilyPolicy, policies));
  }
}

/** Returns false if families cannot be compared, because an item is not an address. */
function checkAddresses(
  errors: FieldError[],
  clusterIPs: readonly string[],
  accepted: readonly string[],
  { gates }: WriteContext,
): boolean {
  const before = errors.length;
  const strict = gates.enabled('StrictIPCIDRValidation');
  clusterIPs.forEach((ip, index) => {
    if (index === 0 && ip === 'None') {
      if (clusterIPs.length > 1) errors.push(invalidValue(path, clusterIPs, "'None' must be the first and only value"));
      return;
    }
    if (accepted.includes(ip)) return;
    errors.push(...invalidAll(`${path}[${index}]`, ip, addressErrors(ip, strict)));
  });
  return errors.length === before;
}

function checkAgainstFamilies(errors: FieldError[], service: Service, clusterIPs: readonly string[]): void {
  if (isHeadless(service)) return;
  const found = clusterIPs.map(familyOf);
  if (clusterIPs.length > 1 && new Set(found).size < 2) {
    errors.push(invalidValue(path, clusterIPs, 'may specify no more than one IP for each IP family'));
  }
  service.spec.ipFamilies?.forEach((family, index) => {
    if (index >= clusterIPs.length || found[index] === family || !families.includes(family)) return;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
    errors.push(invalidValue(`${path}[${index}]`, clusterIPs[index], detail));
  });
}

const unchangeable = 'may not change once set';

/** Errors of changes of cluster IPs, except adding or releasing the secondary one. */
export function validateClusterIpChange(service: Service, old: Service): FieldError[] {
  if (isExternalName(service) || isExternalName(old)) return [];
  const wasHeadless = isHeadless(old);
  if (wasHeadless && isHeadless(service)) return [];
  const errors = listChange(service, path, 'clusterIP', service.spec.clusterIPs ?? [], old.spec.clusterIPs ?? []);
  if (wasHeadless || isHeadless(service)) return errors;
  return [...errors, ...familyChange(service, old)];
}

function familyChange(service: Service, old: Service): FieldError[] {
  const { ipFamilies = [] } = service.spec;
  const errors = listChange(service, 'spec.ipFamilies', 'ipFamily', ipFamilies, old.spec.ipFamilies ?? []);
  // Kubernetes reports the first index for every difference.
  return errors.map((error) =>
    error.path.startsWith('spec.ipFamilies') ? { ...error, path: 'spec.ipFamilies[0]' } : error,
  );
}

function listChange(
  { spec: { ipFamilyPolicy } }: Service,
  at: string,
  what: string,
  next: readonly string[],
  before: readonly string[],
): FieldError[] {
  if (sameList(next, before)) return [];
  if (next.length === before.length) {
    return before.flatMap((value, index) =>
      value === next[index] ? [] : [invalidValue(`${at}[${index}]`, next, unchangeable)],
    );
  }
  const errors: FieldError[] = [];
  if (next.length === 0) errors.push(invalidValue(`${at}[0]`, next, `primary ${what} can not be unset`));
  if (next.length > 0 && before.length > 0 && next[0] !== before[0]) {
    errors.push(invalidValue(`${at}[0]`, next, unchangeable));
  }
  if (next.length < before.length && next.length === 1 && ipFamilyPolicy !== 'SingleStack') {
    const detail = `must be 'SingleStack' when releasing the secondary ${what}`;
    errors.push(invalidValue('spec.ipFamilyPolicy', ipFamilyPolicy, detail));
  }
  return errors;
}
