// The way of a connection, step by step: a name, its address, the route of the proxy, the endpoints.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { isHeadless } from '../../api/kinds/core/service/facts.ts';
import type { ExplainedAnswer } from '../../dns/inspect.ts';
import type { InspectedOwner, Inspection } from '../../proxy/inspect.ts';
import { conflictProblems, placeText, reasonText, routeText, useText } from '../../proxy/inspect.ts';
import type { Path, Step, StepLine } from '../view/details.ts';
import type { ImportRow, ServiceRow } from '../view/rows.ts';

/** What is known about the connection to one name. */
export interface PathInput {
  readonly name: string;
  readonly row: ServiceRow | ImportRow;
  /** Absent for imports. */
  readonly service?: Service | undefined;
  /** Of A and AAAA questions; a string is the reason why there are none. */
  readonly answers: readonly ExplainedAnswer[] | string;
  /** undefined: the viewer may not read endpoints. */
  readonly inspection: Inspection | undefined;
}

/** The steps of a connection. */
export function connectionPath(input: PathInput): Path {
  const { name, row, service } = input;
  const isAlias = row.kind === 'service' && row.type === 'ExternalName';
  if (isAlias) return { name, steps: [nameStep(input), aliasStep(row)] };
  const isWithoutAddress = row.kind === 'import' ? row.isHeadless : service !== undefined && isHeadless(service);
  const owner = input.inspection?.owners.find((each) => each.owner === ownerOf(row));
  return {
    name,
    steps: [
      nameStep(input),
      ...(isWithoutAddress ? [] : [addressStep(row), routeStep(input, owner)]),
      ...(owner === undefined ? [countStep(row)] : [isWithoutAddress ? countStep(row) : endpointStep(owner)]),
    ],
  };
}

const ownerOf = ({ kind, namespace, name }: ServiceRow | ImportRow): string =>
  `${kind === 'import' ? 'Import' : 'Service'} ${namespace}/${name}`;

/** The line of a record, with its objects. */
export const recordLine = ({ record, sources }: ExplainedAnswer['answers'][number]): StepLine => ({
  text: record,
  note: sources.join(', '),
  isUsed: true,
});

function nameStep({ name, answers }: PathInput): Step {
  const title = 'Name';
  if (typeof answers === 'string') return { title, state: 'unknown', summary: answers, lines: [], why: [] };
  const records = answers.flatMap((answer) => answer.answers);
  const isFound = records.length > 0;
  const best = answers.find((answer) => answer.answers.length > 0) ?? answers[0];
  return {
    title,
    state: isFound ? 'ok' : 'broken',
    summary: isFound ? `${name} resolves` : `${name} does not resolve: ${best?.rcode ?? 'no answer'}`,
    lines: uniqueLines(records.map(recordLine)),
    why: best?.why ?? [],
  };
}

const uniqueLines = (lines: readonly StepLine[]): readonly StepLine[] => [
  ...new Map(lines.map((line) => [line.text, line])).values(),
];

const aliasStep = ({ externalName = '' }: ServiceRow): Step => ({
  title: 'Alias',
  state: 'unknown',
  summary: `clients connect to ${externalName}, which is resolved by their own resolver`,
  lines: [],
  why: [],
});

function addressStep(row: ServiceRow | ImportRow): Step {
  const external = row.kind === 'service' ? row.external : [];
  const ports = row.ports.map(({ port }) => port).join(', ') || 'no ports';
  const lines = [
    ...row.addresses.map((text) => ({
      text,
      note: row.kind === 'import' ? 'address of the import' : 'cluster IP',
      isUsed: true,
    })),
    ...external.map((text) => ({ text, note: 'from outside the cluster', isUsed: true })),
  ];
  const refused = row.ports.flatMap(({ port, error }) => (error === undefined ? [] : [`${port}: ${error}`]));
  return {
    title: 'Address',
    state: row.addresses.length === 0 ? 'broken' : 'ok',
    summary: row.addresses.length === 0 ? 'no address is allocated' : `ports ${ports}`,
    lines,
    why: refused.map((text) => `the load balancer does not serve port ${text}`),
  };
}

function routeStep({ inspection }: PathInput, owner: InspectedOwner | undefined): Step {
  const title = 'Route';
  if (inspection === undefined || owner === undefined) {
    return { title, state: 'unknown', summary: 'endpoints may not be read with these rights', lines: [], why: [] };
  }
  const { routes, problems, explanation } = owner;
  const conflicts = conflictProblems(inspection.conflicts.filter(({ loser }) => loser === owner.owner));
  const why = [...problems, ...conflicts.map(({ fullText }) => fullText)];
  if (explanation.unrouted !== undefined) {
    return { title, state: 'broken', summary: `not routed: ${explanation.unrouted}`, lines: [], why };
  }
  const forwarded = routes.filter(({ action, unserved }) => action.type === 'forward' && unserved === undefined);
  return {
    title,
    state: forwarded.length === 0 || conflicts.length > 0 ? 'broken' : 'ok',
    summary:
      forwarded.length === routes.length
        ? `the proxy of a node forwards ${routes.length === 1 ? 'connections' : `all ${routes.length} ports and addresses`}`
        : `the proxy of a node forwards ${forwarded.length} of ${routes.length} ports and addresses`,
    lines: routes.map((route) => ({
      text: `${placeText(route)}/${route.protocol} ${routeText(route)}`,
      note: route.unserved ?? (route.kind === 'clusterIP' ? '' : route.kind),
      isUsed: route.action.type === 'forward' && route.unserved === undefined,
    })),
    why,
  };
}

function endpointStep({ explanation }: InspectedOwner): Step {
  const lines = explanation.endpoints.map((endpoint) => ({
    text: `${placeText(endpoint)}/${endpoint.protocol}`,
    note: [
      useText(endpoint),
      reasonText(endpoint),
      ...(endpoint.cluster === undefined ? [] : [`cluster ${endpoint.cluster}`]),
      ...(endpoint.nodeName === undefined ? [] : [`node ${endpoint.nodeName}`]),
      ...(endpoint.zone === undefined ? [] : [`zone ${endpoint.zone}`]),
    ].join(', '),
    isUsed: useText(endpoint) !== 'not used',
  }));
  // An address of several ports is one endpoint.
  const used = countAddresses(explanation.endpoints.filter((endpoint) => useText(endpoint) !== 'not used'));
  const total = countAddresses(explanation.endpoints);
  return {
    title: 'Endpoints',
    state: used > 0 ? 'ok' : 'broken',
    summary: total === 0 ? 'no endpoints' : `${used} of ${total} endpoints receive connections`,
    lines,
    why: explanation.ignoredSlices.map((text) => `slice ${text}`),
  };
}

const countAddresses = (endpoints: InspectedOwner['explanation']['endpoints']): number =>
  new Set(endpoints.map(({ address }) => address)).size;

/** Endpoints of headless Services: DNS has their addresses. */
function countStep(row: ServiceRow | ImportRow): Step {
  const counts = row.kind === 'import' ? row.sources : row.endpoints === undefined ? [] : [row.endpoints];
  const ready = counts.reduce((sum, each) => sum + each.ready, 0);
  const total = counts.reduce((sum, each) => sum + each.ready + each.notReady + each.terminating, 0);
  const isKnown = counts.length > 0;
  return {
    title: 'Endpoints',
    state: !isKnown ? 'unknown' : ready > 0 ? 'ok' : 'broken',
    summary: isKnown ? `${ready} of ${total} endpoints are ready` : 'endpoints may not be read with these rights',
    lines: [],
    why: row.findings.map(({ text }) => text),
  };
}
