import { isJsonObject } from '../../api/schema/json-object.ts';
import { dump, loadAll } from 'js-yaml';
import { messageOf } from '../../api/error-message.ts';
import { parseAddress, parseCidr } from '../../api/addresses.ts';
import { clusterIdErrors } from '../../api/kinds/multicluster/cluster-id.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../api/names.ts';
import type { AddressMode, LossPolicy } from '../../api/kinds/multicluster/labels.ts';
import { addressModes, lossPolicies } from '../../api/kinds/multicluster/labels.ts';
import { UsageError } from '../errors.ts';
import { yamlError } from '../options/yaml-error.ts';

/** A cluster in the file of members. */
export interface FileMember {
  readonly id: string;
  /** Default: what kubectl reads. A path in it is relative to the file of members. */
  readonly kubeconfig?: string;
  /** Default: the current context. */
  readonly context?: string;
  /** Ranges of its supercluster IPs; none: imports use the IPs of derived Services, for a stock proxy. */
  readonly superclusterCIDRs?: readonly string[];
  /** Ranges of its endpoints. */
  readonly endpointCIDRs?: readonly string[];
  /** Namespaces from which it may export; default: all. */
  readonly namespaces?: readonly string[];
  readonly deniedNamespaces?: readonly string[];
  readonly maxExports?: number;
  readonly maxEndpoints?: number;
  readonly maxEndpointsPerService?: number;
  /** By which the audiences of exports select it. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly region?: string;
  /** What happens to its endpoints in other clusters when it is lost. */
  readonly onLoss?: LossPolicy;
  /** Its server accepts names of Services that begin with a digit. */
  readonly relaxedNames?: boolean;
  /** Its server stores `srvServiceName` in slices. */
  readonly srvNames?: boolean;
  /** The addresses by which other clusters reach its exports. */
  readonly addressMode?: AddressMode;
  /** Addresses in place of those of load balancers, nodes or gateways. */
  readonly addresses?: readonly string[];
  /** It drains; see `fairlead mcs drain`. */
  readonly draining?: boolean;
  /** It is leaving the set; see `fairlead mcs leave`. */
  readonly leaving?: boolean;
}

/** The members of a set. */
export interface MembersFile {
  /** Ranges of supercluster IPs that all clusters without ranges of their own share (MCS-41). */
  readonly superclusterCIDRs?: readonly string[];
  readonly members: readonly FileMember[];
}

/** Whether a key and a value are a label. */
const isLabel = ([key, value]: readonly [string, unknown]): boolean =>
  qualifiedNameErrors(key).length === 0 && typeof value === 'string' && labelValueErrors(value).length === 0;

type Check = (value: unknown) => string | undefined;

const text: Check = (value) => (typeof value === 'string' && value !== '' ? undefined : 'expected a string');
const flag: Check = (value) => (typeof value === 'boolean' ? undefined : 'expected true or false');
const count: Check = (value) =>
  Number.isInteger(value) && Number(value) >= 0 ? undefined : 'expected a number of 0 or more';
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) ? value.map(check).find((error) => error !== undefined) : 'expected a list';
const cidr: Check = (value) =>
  typeof value === 'string' && parseCidr(value) !== undefined ? undefined : 'expected a CIDR, such as 241.0.0.0/16';
const id: Check = (value) => text(value) ?? clusterIdErrors(String(value))[0];

const checks: Readonly<Record<keyof FileMember, Check>> = {
  id,
  kubeconfig: text,
  context: text,
  superclusterCIDRs: listOf(cidr),
  endpointCIDRs: listOf(cidr),
  namespaces: listOf(text),
  deniedNamespaces: listOf(text),
  maxExports: count,
  maxEndpoints: count,
  maxEndpointsPerService: count,
  labels: (value) =>
    isJsonObject(value) && Object.entries(value).every(isLabel) ? undefined : 'expected labels, such as {tier: prod}',
  region: text,
  onLoss: (value) =>
    lossPolicies.some((policy) => policy === value) ? undefined : `expected ${lossPolicies.join(', ')}`,
  relaxedNames: flag,
  srvNames: flag,
  addressMode: (value) =>
    addressModes.some((mode) => mode === value) ? undefined : `expected ${addressModes.join(', ')}`,
  addresses: listOf((value) =>
    typeof value === 'string' && parseAddress(value) !== undefined
      ? undefined
      : 'expected IP addresses, such as 192.0.2.10',
  ),
  draining: flag,
  leaving: flag,
};

/** Parses a members file; errors contain the position. */
export function parseMembers(content: string, path: string): MembersFile {
  try {
    const [document, ...others] = loadAll(content);
    if (others.length > 0) throw new UsageError('expected one YAML document, found several');
    if (document === undefined || document === null) return { members: [] };
    if (!isJsonObject(document)) throw new UsageError('expected a mapping with the key "members"');
    const { members = [], superclusterCIDRs, ...unknown } = document;
    const [key] = Object.keys(unknown);
    if (key !== undefined) throw new UsageError(`unknown key "${key}": expected members or superclusterCIDRs`);
    if (superclusterCIDRs !== undefined) checkValue('superclusterCIDRs', superclusterCIDRs, listOf(cidr));
    if (!Array.isArray(members)) throw new UsageError('key "members": expected a list');
    const read = members.map(memberOf);
    const twice = read.find((member, index) => read.findIndex((other) => other.id === member.id) !== index);
    if (twice !== undefined) throw new UsageError(`two members have the id "${twice.id}": give each its own`);
    const shared = Array.isArray(superclusterCIDRs) ? { superclusterCIDRs: superclusterCIDRs.map(String) } : {};
    return { ...shared, members: read };
  } catch (error) {
    throw yamlError(path, error);
  }
}

function memberOf(value: unknown, index: number): FileMember {
  if (!isJsonObject(value)) throw new UsageError(`members[${index}]: expected a mapping`);
  const withId: Readonly<Record<string, unknown>> = { id: value['context'], ...value };
  if (withId['id'] === undefined) throw new UsageError(`members[${index}]: expected an id, or a context`);
  try {
    for (const [key, each] of Object.entries(withId)) {
      const check = Object.hasOwn(checks, key) ? checks[key as keyof FileMember] : undefined; // just looked up
      if (check === undefined)
        throw new UsageError(`unknown key "${key}": expected one of ${Object.keys(checks).join(', ')}`);
      checkValue(key, each, check);
    }
    if (withId['addresses'] !== undefined && (withId['addressMode'] ?? 'pods') === 'pods')
      throw new UsageError('key "addresses": needs addressMode loadbalancer, nodeport or gateway');
  } catch (error) {
    throw new UsageError(`members[${index}]: ${messageOf(error)}`, { cause: error });
  }
  return withId as unknown as FileMember; // every key and value of it was checked
}

function checkValue(key: string, value: unknown, check: Check): void {
  const error = check(value);
  if (error !== undefined) throw new UsageError(`key "${key}": ${error}, found ${JSON.stringify(value)}`);
}

/** The file as text. */
export const printMembers = (file: MembersFile): string => dump(file, { lineWidth: 120 });
