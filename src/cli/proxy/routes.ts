import { lowestPort } from '../../machine/lowest-port.ts';
import type { InspectedOwner, InspectedRoute, Inspection } from '../../proxy/inspect.ts';
import { inspect } from '../../proxy/inspect.ts';
import { conflictProblems } from '../../proxy/routes/conflict.ts';
import { reasonText, routeText, useText } from '../../proxy/routes/describe.ts';
import { placeText } from '../../proxy/routes/route.ts';
import type { EndpointReason } from '../../proxy/routes/why.ts';
import { FatalError, UsageError } from '../errors.ts';
import { columns } from '../../api/text.ts';
import { rendered } from '../output.ts';
import type { PartAction } from '../part/part.ts';
import { proxyOptionsOf } from './options.ts';

/** `fairlead proxy routes [NAMESPACE[/NAME]]`: reads the cluster once and prints the routes of this node, with the reasons. */
export const routes: PartAction['run'] = async ({ args, streams, connect, settingsInCluster }) => {
  const [filter] = args;
  const [namespace, name, ...rest] = filter?.split('/') ?? [];
  if (rest.length > 0 || namespace === '' || name === '') {
    throw new UsageError(`expected NAMESPACE or NAMESPACE/NAME, found ${JSON.stringify(filter)}`);
  }
  const { settings, pid } = await settingsInCluster();
  const options = proxyOptionsOf(settings);
  using client = await connect();
  // In mode nftables no process listens at the addresses.
  const minPort = options.mode === 'userspace' ? lowestPort(pid) : 1;
  const found = await inspect(client, options, { ...(namespace === undefined ? {} : { namespace }), minPort });
  const isSelected = (owner: string): boolean => name === undefined || owner.endsWith(` ${namespace}/${name}`);
  const owners = found.owners.filter(({ owner }) => isSelected(owner));
  const inspection: Inspection = { owners, conflicts: found.conflicts.filter(({ loser }) => isSelected(loser)) };
  if (filter !== undefined && owners.length === 0) throw new FatalError(notFound(namespace, name));
  streams.out(await rendered(settings, plain(inspection), () => lines(inspection, options.nodeName)));
  return 0;
};

const notFound = (namespace = '', name: string | undefined): string =>
  name === undefined
    ? `there is no Service or import in namespace "${namespace}"`
    : `there is no Service or import "${name}" in namespace "${namespace}"`;

/** The inspection with arrays instead of sets, for JSON. */
const plain = ({ owners, conflicts }: Inspection): unknown => ({
  owners: owners.map(({ routes: own, ...owner }) => ({
    ...owner,
    routes: own.map(({ serving, ...route }) => ({ ...route, ...(serving ? { serving: [...serving] } : {}) })),
  })),
  conflicts,
});

/** The inspection for people. */
export function lines({ owners, conflicts }: Inspection, nodeName: string): readonly string[] {
  if (owners.length === 0) return [`nothing is routed on node ${nodeName}`];
  return [...owners.flatMap(ownerLines), ...conflictProblems(conflicts).map(({ fullText }) => fullText)];
}

function ownerLines({ owner, routes: own, problems, explanation }: InspectedOwner): readonly string[] {
  if (explanation.unrouted !== undefined) return [`${owner}: not routed: ${explanation.unrouted}`];
  return [
    owner,
    ...columns(own.map(routeRow), '  '),
    ...problems.map((text) => `  ${text}`),
    ...columns(explanation.endpoints.map(endpointRow), '    '),
    ...explanation.ignoredSlices.map((text) => `    slice ${text}`),
  ];
}

const routeRow = ({ unserved, ...route }: InspectedRoute): readonly string[] => [
  `${placeText(route)}/${route.protocol}`,
  route.kind,
  unserved === undefined ? routeText(route) : `not served: ${unserved}`,
];

const endpointRow = (endpoint: EndpointReason): readonly string[] => [
  useText(endpoint),
  `${placeText(endpoint)}/${endpoint.protocol}`,
  endpoint.portName === '' ? '-' : endpoint.portName,
  endpoint.cluster === undefined ? '' : `cluster ${endpoint.cluster}`,
  reasonText(endpoint),
];
