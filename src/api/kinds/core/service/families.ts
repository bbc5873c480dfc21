import { isExternalName } from './facts.ts';
import { familyOf } from '../../../addresses.ts';
import { invalidValue } from '../../../field-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { sameList } from './normalize.ts';
import type { IpFamily, Service, ServiceSpec } from './schema.ts';
import { validateClusterIps } from './validate-cluster-ips.ts';

type Policy = NonNullable<ServiceSpec['ipFamilyPolicy']>;

export interface FamilyInput {
  readonly service: Service;
  /** The stored Service, on an update. */
  readonly old?: Service | undefined;
  /** The IP families of the service ranges, the primary one first. */
  readonly cluster: { readonly families: readonly IpFamily[] };
  readonly context: WriteContext;
}

/** The Service with `ipFamilyPolicy` and `ipFamilies` set, or errors. */
export type FamilyResult =
  | { readonly ok: true; readonly service: Service }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/**
 * Sets the number of IP families of a Service and their order. Cluster IPs in the request take precedence over families,
 * and families over the order of the cluster. Only the secondary address can be released here.
 */
export function initFamilies({ service, old, cluster, context }: FamilyInput): FamilyResult {
  if (isExternalName(service) || keepsPreference(service, old)) return { ok: true, service };
  const policy = policyFor(service, old);
  const decided: Service = { ...service, spec: { ...service.spec, ipFamilyPolicy: policy } };
  const malformed = validateClusterIps(decided, context, old);
  if (malformed.length > 0) return { ok: false, errors: malformed };

  const { spec, errors: reductions } = applyReduction(decided.spec, policy, old);
  const { families, errors: unconfigured } = familiesOfAddresses(spec, cluster.families);
  const errors = [...reductions, ...excessErrors(spec, policy), ...unconfigured];
  if (errors.length > 0) return { ok: false, errors };

  const result = isHeadlessWithoutSelector(spec)
    ? // The endpoints are not managed by the cluster, so they can use both families in every cluster.
      { ok: true as const, families: completed(families, policy, ['IPv4', 'IPv6'], cluster.families) }
    : fitToCluster(families, policy, cluster.families);
  if (!result.ok) return result;
  return { ok: true, service: { ...decided, spec: { ...spec, ipFamilies: result.families } } };
}

/**
 * Whether an update keeps the families of a Service: with PreferDualStack and unchanged addresses they stay the same when
 * the cluster gains or loses a family.
 */
export function keepsPreference({ spec }: Service, old: Service | undefined): boolean {
  if (old === undefined || spec.type !== old.spec.type || spec.type === 'ExternalName') return false;
  return (
    spec.ipFamilyPolicy === 'PreferDualStack' &&
    (old.spec.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
    sameList(spec.clusterIPs ?? [], old.spec.clusterIPs ?? []) &&
    sameList(spec.ipFamilies ?? [], old.spec.ipFamilies ?? [])
  );
}

const isHeadlessWithoutSelector = ({ clusterIP, selector }: ServiceSpec): boolean => {
  if (clusterIP !== 'None') return false;
  for (const _ in selector) return false;
  return true;
};

function policyFor({ spec }: Service, old: Service | undefined): Policy {
  const given = spec.ipFamilyPolicy ?? old?.spec.ipFamilyPolicy;
  return given ?? (isHeadlessWithoutSelector(spec) ? 'RequireDualStack' : 'SingleStack');
}

/** An update to SingleStack with unchanged lists releases the secondary entries; any other reduction is an error. */
function applyReduction(
  spec: ServiceSpec,
  policy: Policy,
  old: Service | undefined,
): { readonly spec: ServiceSpec; readonly errors: readonly FieldError[] } {
  if (old === undefined) return { spec, errors: [] };
  const { clusterIPs = [], ipFamilies = [] } = spec;
  const { clusterIPs: oldIPs = [], ipFamilies: oldFamilies = [] } = old.spec;
  if (policy !== 'SingleStack') {
    const isReduced = (now: readonly string[], before: readonly string[]): boolean =>
      now.length > 0 && now.length < before.length;
    return {
      spec,
      errors: [
        ...(isReduced(clusterIPs, oldIPs)
          ? [policyError(policy, 'SingleStack', 'to release the secondary cluster IP')]
          : []),
        ...(isReduced(ipFamilies, oldFamilies)
          ? [policyError(policy, 'SingleStack', 'to release the secondary IP family')]
          : []),
      ],
    };
  }
  return {
    spec: {
      ...spec,
      ...(clusterIPs.length > 1 && sameList(clusterIPs, oldIPs) ? { clusterIPs: clusterIPs.slice(0, 1) } : {}),
      ...(ipFamilies.length > 1 && sameList(ipFamilies, oldFamilies) ? { ipFamilies: ipFamilies.slice(0, 1) } : {}),
    },
    errors: [],
  };
}

function policyError(policy: Policy, wanted: string, why: string): FieldError {
  return invalidValue('spec.ipFamilyPolicy', policy, `must be '${wanted}' ${why}`);
}

function excessErrors({ clusterIPs, ipFamilies }: ServiceSpec, policy: Policy): readonly FieldError[] {
  if (policy !== 'SingleStack') return [];
  const dual = "RequireDualStack' or 'PreferDualStack";
  return [
    ...(clusterIPs?.length === 2 ? [policyError(policy, dual, 'when multiple cluster IPs are specified')] : []),
    ...(ipFamilies?.length === 2 ? [policyError(policy, dual, 'when multiple IP families are specified')] : []),
  ];
}

/** The given families, followed by those of the addresses beyond them. */
function familiesOfAddresses(
  { clusterIPs = [], ipFamilies = [] }: ServiceSpec,
  configured: readonly IpFamily[],
): { readonly families: readonly IpFamily[]; readonly errors: readonly FieldError[] } {
  if (clusterIPs.length <= ipFamilies.length || clusterIPs[0] === 'None') return { families: ipFamilies, errors: [] };
  const families = [...ipFamilies];
  const errors: FieldError[] = [];
  for (const [index, ip] of clusterIPs.entries()) {
    if (index < families.length) continue;
    const family = familyOf(ip);
    if (family === undefined) continue; // reported above
    if (configured.includes(family)) families.push(family);
    else
      errors.push(invalidValue(`spec.clusterIPs[${index}]`, clusterIPs, `${family} is not configured on this cluster`));
  }
  return { families, errors };
}

type Fit =
  | { readonly ok: true; readonly families: readonly IpFamily[] }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

function fitToCluster(families: readonly IpFamily[], policy: Policy, configured: readonly IpFamily[]): Fit {
  const errors: FieldError[] = [];
  if (policy === 'RequireDualStack' && configured.length < 2) {
    errors.push(invalidValue('spec.ipFamilyPolicy', policy, 'this cluster is not configured for dual-stack services'));
  }
  for (const [index, family] of families.entries()) {
    if (configured.includes(family)) continue;
    errors.push(invalidValue(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster'));
  }
  if (errors.length > 0) return { ok: false, errors };
  return { ok: true, families: completed(families, policy, configured, configured) };
}

/** At least the primary family; with a dual-stack policy also the other one if it is `available`. */
function completed(
  families: readonly IpFamily[],
  policy: Policy,
  available: readonly IpFamily[],
  [primary = 'IPv4']: readonly IpFamily[],
): readonly IpFamily[] {
  const first = families[0] ?? primary;
  if (families.length > 1 || policy === 'SingleStack') return families.length > 0 ? families : [first];
  return [first, ...available.filter((family) => family !== first)];
}
