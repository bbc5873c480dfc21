// Targets as text: `i-0a1b` is an instance with the port of its group, `192.0.2.7:8080` is an endpoint.
import { protocolOf } from '../../../api/kinds/core/service/facts.ts';
import { isReady, portNumberIn } from '../../../api/kinds/discovery/endpointslice/facts.ts';
import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { Service } from '../../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../../api/kinds/discovery/endpointslice/schema.ts';
import type { OpenPort } from '../../clouds/resource.ts';

/** Target type of AWS. */
export type TargetType = 'instance' | 'ip';

/** The EC2 instance of a node, from a provider ID such as `aws:///eu-central-1a/i-0a1b`. */
export const instanceOf = ({ spec }: Node): string | undefined =>
  /^aws:\/\/\/[^/]*\/(i-[0-9a-f]+)$/.exec(spec.providerID ?? '')?.[1];

/** The instances of nodes with these labels. */
export const instanceTargets = (nodes: readonly Node[], labels: Readonly<Record<string, string>>): readonly string[] =>
  nodes
    .filter(({ metadata: { labels: own = {} } }) =>
      Object.entries(labels).every(([name, value]) => own[name] === value),
    )
    .flatMap((node) => instanceOf(node) ?? [])
    .toSorted();

/** The ready endpoints of a port of a Service; undefined if it has no such port. */
export function endpointTargets(
  { spec: { ports = [] } }: Service,
  slices: readonly EndpointSlice[],
  { port, protocol }: OpenPort,
): readonly string[] | undefined {
  const desired = ports.find((each) => each.port === port && protocolOf(each) === protocol);
  if (desired === undefined) return undefined;
  const targets = slices
    .filter(({ addressType }) => addressType === 'IPv4')
    .flatMap((slice) => {
      const number = portNumberIn(slice, desired);
      const ready = (slice.endpoints ?? []).filter(isReady);
      return number === undefined ? [] : ready.flatMap(({ addresses }) => `${addresses?.[0]}:${number}`);
    });
  return Array.from(new Set(targets)).toSorted();
}

/** A target in the form of the SDK. */
export function asTarget(text: string): { Id: string; Port?: number } {
  const [Id = '', port] = text.split(':');
  return port === undefined ? { Id } : { Id, Port: Number(port) };
}

/** A target from the form of the SDK. */
export const targetText = (
  type: TargetType,
  { Id = '', Port }: { readonly Id?: string | undefined; readonly Port?: number | undefined } = {},
): string => (type === 'ip' ? `${Id}:${Port}` : Id);
