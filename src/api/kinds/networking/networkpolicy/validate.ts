import { cidrErrors, cidrWarnings } from '../../../address-errors.ts';
import { contains, parseCidr } from '../../../addresses.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import type { WriteContext } from '../../../kind.ts';
import { portNameErrors, portNumberErrors } from '../../../names.ts';
import { labelSelectorErrors } from '../../../selectors/label-selector.ts';
import type { IpBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from './schema.ts';

const protocols: readonly string[] = ['TCP', 'UDP', 'SCTP'];
const directions: readonly string[] = ['Ingress', 'Egress'];

/** Validation errors of a NetworkPolicy. CIDRs that `old` contains are accepted, wherever they were. */
export function policyErrors(
  policy: NetworkPolicy,
  old: NetworkPolicy | undefined,
  context: WriteContext,
): readonly FieldError[] {
  const known = new Set(old === undefined ? [] : blocksOf(old).flatMap(({ block }) => cidrsOf(block)));
  const cidrProblems = (cidr: string): readonly string[] =>
    known.has(cidr) ? [] : cidrErrors(cidr, context.gates.enabled('StrictIPCIDRValidation'));
  return [
    ...labelSelectorErrors('spec.podSelector', policy.spec.podSelector),
    ...rulesOf(policy).flatMap(({ path, ports, peers, peersField }) => [
      ...ports.flatMap((port, index) => portErrors(port, `${path}.ports[${index}]`)),
      ...peers.flatMap((peer, index) => peerErrors(peer, `${path}.${peersField}[${index}]`, cidrProblems)),
    ]),
    ...directionErrors(policy.spec.policyTypes ?? []),
  ];
}

interface Rule {
  readonly path: string;
  readonly ports: readonly NetworkPolicyPort[];
  readonly peers: readonly NetworkPolicyPeer[];
  readonly peersField: 'from' | 'to';
}

const rulesOf = ({ spec: { ingress = [], egress = [] } }: NetworkPolicy): readonly Rule[] => [
  ...ingress.map(({ ports = [], from = [] }, index) => ({
    path: `spec.ingress[${index}]`,
    ports,
    peers: from,
    peersField: 'from' as const,
  })),
  ...egress.map(({ ports = [], to = [] }, index) => ({
    path: `spec.egress[${index}]`,
    ports,
    peers: to,
    peersField: 'to' as const,
  })),
];

const blocksOf = (policy: NetworkPolicy): readonly { readonly path: string; readonly block: IpBlock }[] =>
  rulesOf(policy).flatMap(({ path, peers, peersField }) =>
    peers.flatMap(({ ipBlock: block }, index) =>
      block === undefined ? [] : [{ path: `${path}.${peersField}[${index}].ipBlock`, block }],
    ),
  );

const cidrsOf = ({ cidr, except = [] }: IpBlock): readonly string[] => [cidr, ...except];

function portErrors({ protocol, port, endPort }: NetworkPolicyPort, at: string): readonly FieldError[] {
  const errors: FieldError[] =
    protocol === undefined || protocols.includes(protocol) ? [] : [notSupported(`${at}.protocol`, protocol, protocols)];
  const end = `${at}.endPort`;
  if (port === undefined) {
    if (endPort !== undefined)
      errors.push(invalidValue(end, endPort, 'may not be specified when `port` is not specified'));
  } else if (typeof port === 'number') {
    errors.push(...invalidAll(`${at}.port`, port, portNumberErrors(port)));
    if (endPort !== undefined) {
      if (endPort < port) errors.push(invalidValue(end, port, 'must be greater than or equal to `port`'));
      errors.push(...invalidAll(end, endPort, portNumberErrors(endPort)));
    }
  } else {
    if (endPort !== undefined)
      errors.push(invalidValue(end, endPort, 'may not be specified when `port` is non-numeric'));
    errors.push(...invalidAll(`${at}.port`, port, portNameErrors(port)));
  }
  return errors;
}

function peerErrors(
  { podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer,
  at: string,
  cidrProblems: (cidr: string) => readonly string[],
): readonly FieldError[] {
  const hasSelector = podSelector !== undefined || namespaceSelector !== undefined;
  return [
    ...(podSelector === undefined ? [] : labelSelectorErrors(`${at}.podSelector`, podSelector)),
    ...(namespaceSelector === undefined ? [] : labelSelectorErrors(`${at}.namespaceSelector`, namespaceSelector)),
    ...(ipBlock === undefined ? [] : blockErrors(ipBlock, `${at}.ipBlock`, cidrProblems)),
    ...(hasSelector || ipBlock !== undefined ? [] : [required(at, 'must specify a peer')]),
    ...(hasSelector && ipBlock !== undefined
      ? [forbiddenField(at, 'may not specify both ipBlock and another peer')]
      : []),
  ];
}

function blockErrors(
  { cidr, except = [] }: IpBlock,
  at: string,
  cidrProblems: (cidr: string) => readonly string[],
): readonly FieldError[] {
  if (cidr === '') return [required(`${at}.cidr`)];
  const errors = invalidAll(`${at}.cidr`, cidr, cidrProblems(cidr));
  const whole = parseCidr(cidr);
  if (whole === undefined) return errors;
  for (const [index, text] of except.entries()) {
    const path = `${at}.except[${index}]`;
    errors.push(...invalidAll(path, text, cidrProblems(text)));
    const part = parseCidr(text);
    if (part === undefined) continue;
    const isInside = contains(whole, { family: part.family, value: part.network });
    if (!isInside || whole.prefixLength >= part.prefixLength) {
      errors.push(invalidValue(path, text, 'must be a strict subset of `cidr`'));
    }
  }
  return errors;
}

function directionErrors(types: readonly string[]): readonly FieldError[] {
  const path = 'spec.policyTypes';
  if (types.length > directions.length) {
    return [invalidValue(path, types, 'may not specify more than two policyTypes')];
  }
  return types.flatMap((type, index) =>
    directions.includes(type) ? [] : [notSupported(`${path}[${index}]`, type, directions)],
  );
}

/** Warnings about CIDRs in forms that are accepted. */
export const policyWarnings = (policy: NetworkPolicy): readonly string[] =>
  blocksOf(policy).flatMap(({ path, block: { cidr, except = [] } }) => [
    ...cidrWarnings(`${path}.cidr`, cidr),
    ...except.flatMap((text, index) => cidrWarnings(`${path}.except[${index}]`, text)),
  ]);
