// Why a service is missing in a cluster: the steps from its export to its DNS name, and the first broken one.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { audienceAnnotation } from '../../api/kinds/multicluster/audience.ts';
import { printPlace, remoteGatewaysAnnotation } from '../../api/kinds/multicluster/gateway.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Dropped } from '../guard/policy.ts';
import { audienceProblem, audienceText } from '../merge/audience.ts';
import { clustersText, listText } from '../merge/conflict.ts';
import type { Exporter, Merged } from '../merge/merged.ts';
import type { Actual, Desired } from '../project/desired.ts';
import { diff } from '../project/diff.ts';
import { droppedEvents } from '../project/export-events.ts';
import { isOurSlice } from '../project/labels.ts';
import type { MemberFacts, ServiceKey, McsApi } from '../record.ts';
import { slicesFor, textOf } from '../record.ts';
import { columns } from '../../api/text.ts';

/** The state of the lease of a source cluster in an importing one. */
export type LeaseState = 'healthy' | 'suspect' | 'expired' | 'absent';

/** The DNS response for the name of the service; undefined: DNS was not queried. */
export type DnsAnswer = { readonly name: string; readonly addresses: readonly string[] } | undefined;

export interface WhyInput {
  readonly merged: Merged;
  /** The exports whose audience does not include `from`; default none. They are not in `merged`. */
  readonly hidden?: readonly Exporter[] | undefined;
  /** The view to check: `supercluster.local` or `clusterset.local`. */
  readonly api: McsApi;
  /** The cluster in which the service is missing. */
  readonly from: MemberFacts;
  readonly members: readonly MemberFacts[];
  /** The desired and actual objects in `from`. */
  readonly desired: Desired;
  readonly actual: Actual;
  /** Source cluster → its lease in `from`. */
  readonly leases: ReadonlyMap<string, LeaseState>;
  /** What is ignored of the exports; default: nothing. */
  readonly dropped?: readonly Dropped[];
  readonly dns?: DnsAnswer;
}

export type StepName =
  | 'members'
  | 'export'
  | 'audience'
  | 'valid'
  | 'merged'
  | 'namespace'
  | 'import'
  | 'address'
  | 'slices'
  | 'lease'
  | 'dns';

/** The result of one step. */
export interface Step {
  readonly step: StepName;
  /** `unknown`: it could not be determined. `not reached`: an earlier step is broken. */
  readonly state: 'ok' | 'broken' | 'unknown' | 'not reached';
  readonly message: string;
}

/** The steps, and the broken one. */
export interface Reasons extends ServiceKey {
  readonly from: string;
  readonly steps: readonly Step[];
  /** The broken step; undefined: none is. */
  readonly broken: StepName | undefined;
}

type Finding = Omit<Step, 'step'>;

const ok = (message: string): Finding => ({ state: 'ok', message });
const broken = (message: string): Finding => ({ state: 'broken', message });
const unknown = (message: string): Finding => ({ state: 'unknown', message });

const walk: readonly (readonly [StepName, (input: WhyInput) => Finding])[] = [
  ['members', membersStep],
  ['export', exportStep],
  ['audience', audienceStep],
  ['valid', validStep],
  ['merged', mergedStep],
  ['namespace', namespaceStep],
  ['import', importStep],
  ['address', addressStep],
  ['slices', slicesStep],
  ['lease', leaseStep],
  ['dns', dnsStep],
];

const walkWithoutAudience = walk.filter(([step]) => step !== 'audience');

const hiddenOf = ({ hidden = [] }: WhyInput): readonly Exporter[] => hidden;

const hasAudience = ({ record }: Exporter): boolean => audienceText(record) !== undefined;

/** Checks the steps in order, up to the first broken one. */
export function why(input: WhyInput): Reasons {
  const steps = input.merged.exporters.some(hasAudience) || hiddenOf(input).length > 0 ? walk : walkWithoutAudience;
  const found = steps.map(([step, find]): Step => ({ step, ...find(input) }));
  const end = found.findIndex(({ state }) => state === 'broken');
  const reached = found.map((step, index): Step =>
    end === -1 || index <= end ? step : { step: step.step, state: 'not reached', message: `after ${found[end]?.step}` },
  );
  return {
    namespace: input.merged.namespace,
    name: input.merged.name,
    from: input.from.id,
    steps: reached,
    broken: reached.find(({ state }) => state === 'broken')?.step,
  };
}

/** The steps as text. */
export function whyText(reasons: Reasons): string {
  const rows = reasons.steps.map(({ step, state, message }) => [state === 'unknown' ? '?' : state, step, message]);
  const end =
    reasons.broken === undefined
      ? `found no problem with ${textOf(reasons)} in ${reasons.from}`
      : `${textOf(reasons)} is missing in ${reasons.from} because of step "${reasons.broken}"`;
  return [...columns(rows, '  '), end].join('\n');
}

function membersStep({ from, members }: WhyInput): Finding {
  if (!from.isConnected) return broken(`cluster ${from.id} cannot be reached: nothing is written to it`);
  const away = unreadOf(members);
  if (away.length > 0) return unknown(`${listText(away)} cannot be read now: run \`fairlead mcs list\` for the reason`);
  return ok(`all ${members.length} clusters are read`);
}

const unreadOf = (members: readonly MemberFacts[]): readonly string[] =>
  members.filter(({ isConnected, isSynced }) => !isConnected || !isSynced).map(({ id }) => id);

const namesOf = (exporters: readonly Exporter[]): string => listText(exporters.map(({ cluster }) => cluster));

function exportStep(input: WhyInput): Finding {
  const { merged, members } = input;
  const standing = [...merged.exporters, ...hiddenOf(input)].filter(({ verdict }) => verdict.state !== 'leaving');
  if (standing.length > 0) return ok(`exported by ${namesOf(standing)}`);
  if (merged.exporters.length > 0) return broken(`the exports of ${namesOf(merged.exporters)} are being deleted`);
  const away = unreadOf(members);
  if (away.length > 0) return unknown(`no cluster that can be read exports it; ${listText(away)} cannot be read`);
  return broken(`no cluster exports ${textOf(merged)}: create a ServiceExport of that name beside the Service`);
}

/** Which exports name the cluster in their audience. */
function audienceStep(input: WhyInput): Finding {
  const { from, merged } = input;
  const hidden = hiddenOf(input).filter(({ verdict }) => verdict.state !== 'leaving');
  const texts = hidden.map(({ cluster, record }) =>
    audienceProblem(record) === undefined
      ? `${from.id} is not in the audience of the export of ${cluster} ("${audienceText(record) ?? ''}")`
      : `${cluster}: ${audienceProblem(record) ?? ''}`,
  );
  if (merged.exporters.some(({ verdict }) => verdict.state !== 'leaving'))
    return ok([`${from.id} may import what ${namesOf(merged.exporters)} exports`, ...texts].join('; '));
  if (texts.length === 0) return unknown('there is no export');
  return broken(`${texts.join('; ')}: add it to annotation ${audienceAnnotation} there`);
}

function validStep({ merged: { exporters } }: WhyInput): Finding {
  const invalid = exporters.flatMap(({ verdict }) => (verdict.state === 'invalid' ? [verdict.message] : []));
  const valid = exporters.filter(({ verdict }) => verdict.state === 'valid');
  if (valid.length === 0)
    return exporters.length === 0 ? unknown('there is no export') : broken(invalid.join('; ') || 'no export is valid');
  return ok([`valid in ${namesOf(valid)}`, ...invalid].join('; '));
}

function mergedStep({ merged, api }: WhyInput): Finding {
  const { views, order, conflicts, quarantined } = merged;
  if (order.length === 0) return unknown('there is nothing to merge');
  const own = conflicts.filter(({ apis }) => apis.includes(api));
  const fixes = own.map(({ field, fix }) => `${field}: ${fix.text}`).join('; ');
  if (views[api] === undefined) return broken(`withdrawn because of conflicts; ${fixes}`);
  if (api === 'supercluster' && quarantined.length > 0) return ok(`${listText(quarantined)} quarantined; ${fixes}`);
  return ok(own.length === 0 ? `merged from ${listText(order)}` : `merged, ${order[0] ?? ''} wins conflicts; ${fixes}`);
}

function namespaceStep({ from, merged: { namespace } }: WhyInput): Finding {
  if (!from.namespaces.has(namespace))
    return broken(`cluster ${from.id} has no namespace ${namespace}: create it there`);
  return ok(`namespace ${namespace} exists in ${from.id}`);
}

function importStep({ api, from, desired, actual }: WhyInput): Finding {
  const [wanted, there] =
    api === 'supercluster'
      ? [desired.importedService, actual.importedService]
      : [desired.serviceImport, actual.serviceImport];
  const kind = api === 'supercluster' ? 'ImportedService' : 'ServiceImport';
  if (!from.serves[api]) return broken(`cluster ${from.id} does not serve ${kind}: install its definition`);
  if (wanted === undefined && there !== undefined) return unknown(`${kind} is about to be deleted`);
  if (wanted === undefined) {
    const refusal = desired.refusals[0]?.message;
    return refusal === undefined ? unknown('there is nothing to import') : broken(refusal);
  }
  const foreignObjects = diff(desired, actual, { now: '' }).foreignObjects.filter(({ object }) => object === there);
  if (foreignObjects[0] !== undefined) return broken(foreignObjects[0].message);
  return there === undefined
    ? broken(`${kind} has not been written to ${from.id} yet`)
    : ok(`${kind} is in ${from.id}`);
}

function addressStep({ api, merged, desired, actual }: WhyInput): Finding {
  if (merged.views[api]?.type === 'Headless') return ok('headless: it needs no address');
  const ips = addressesIn(api, actual);
  if (ips.length > 0) return ok(`its address is ${listText(ips)}`);
  return desired.refusals[0] === undefined ? unknown('it has no address yet') : broken(desired.refusals[0].message);
}

function addressesIn(api: McsApi, { importedService, serviceImport }: Actual): readonly string[] {
  if (api === 'clusterset') return serviceImport?.spec?.ips ?? [];
  const { ip } = importedService?.spec ?? {};
  return ip === undefined ? [] : [ip];
}

function slicesStep(input: WhyInput): Finding {
  const { merged, desired, actual, dropped = [] } = input;
  const ours = actual.slices.filter(isOurSlice);
  const endpoints = ours.flatMap((slice) => slice.endpoints ?? []);
  const ready = endpoints.filter(isReady).length;
  const sources = [...new Set(ours.map(({ metadata }) => metadata.labels?.[sourceClusterLabel] ?? ''))].toSorted();
  const missing = diff(desired, actual, { now: '' }).writes.filter(({ kind }) => kind.kind === 'EndpointSlice').length;
  const behind = missing === 0 ? '' : `; still to be written: ${missing}`;
  const reach = reachText(input);
  if (ready > 0)
    return ok(`${ready} of ${endpoints.length} endpoints are ready, from ${listText(sources)}${reach}${behind}`);
  if (merged.order.length === 0) return unknown('there is nothing to import');
  const problems = merged.exporters.flatMap(({ cluster, record: { advertised } }) =>
    cluster === input.from.id ? [] : (advertised?.problem ?? []),
  );
  const exported = merged.exporters.flatMap(({ record }) =>
    slicesFor(input.from.id, record).flatMap((slice) => slice.endpoints ?? []),
  );
  if (exported.length === 0 && problems.length > 0) return broken(problems.join('; '));
  if (exported.some(isReady)) return broken(`the endpoints have not arrived${behind}`);
  const deleted = lostSources(input).filter((cluster) => !hasSlicesOf(cluster, actual));
  const lost = deleted.length === 0 ? '' : `; those of ${listText(deleted)} were deleted when the connection was lost`;
  const clusters = listText(merged.order);
  if (exported.length > 0) return broken(`none of ${exported.length} endpoints is ready in ${clusters}${lost}`);
  const leftOut = droppedEvents(dropped).find(({ reason }) => reason === 'EndpointsDropped')?.message;
  return broken(`${leftOut ?? `no endpoints in ${clusters}: check the Pods of the Service there`}${lost}`);
}

/** The addresses by which clusters are reached that do not export those of their Pods, and the clusters without any. */
const reachText = ({ merged, from, actual }: WhyInput): string =>
  merged.exporters
    .flatMap(({ cluster, record: { advertised } }) => {
      if (advertised === undefined || cluster === from.id) return [];
      const addresses = advertised.slices.flatMap((slice) =>
        (slice.endpoints ?? []).flatMap((each) => each.addresses ?? []),
      );
      const ways = {
        pods: 'its Pods',
        loadbalancer: 'its load balancer',
        nodeport: 'node ports',
        gateway: 'its gateways',
      };
      const places = advertised.gateways?.map(printPlace) ?? addresses;
      return [
        advertised.problem === undefined
          ? `; ${cluster} is reached by ${ways[advertised.mode]} at ${clustersText(places)}${egressText(actual, cluster)} ` +
            `(address mode ${advertised.mode})`
          : `; ${advertised.problem}`,
      ];
    })
    .join('');

/** The gateways of the importing cluster that lead to a cluster. */
function egressText({ slices }: Actual, cluster: string): string {
  const own = slices.filter(
    ({ metadata: { labels, annotations } }) =>
      labels?.[sourceClusterLabel] === cluster && annotations?.[remoteGatewaysAnnotation] !== undefined,
  );
  const places = own.flatMap(({ endpoints, ports }) =>
    (endpoints ?? []).flatMap((each) =>
      (ports ?? []).map(
        ({ port = 0 }) =>
          `${printPlace({ host: each.addresses?.[0] ?? '', port })}${isReady(each) ? '' : ' (not ready)'}`,
      ),
    ),
  );
  return places.length === 0 ? '' : `, from gateways at ${clustersText(places)}`;
}

function leaseStep(input: WhyInput): Finding {
  const { actual, leases, from } = input;
  const others = otherSources(input);
  if (others.length > 0 && leases.get(from.id) === 'expired')
    return broken(`no controller renews the leases in ${from.id}: start \`fairlead multicluster\`, or read its log`);
  const expired = lostSources(input);
  const suspect = others.filter((cluster) => !['healthy', 'expired'].includes(leases.get(cluster) ?? 'absent'));
  if (expired.length > 0) {
    const lost = `the connection to ${listText(expired)} is lost`;
    if (expired.every((cluster) => hasSlicesOf(cluster, actual))) return ok(`${lost}; its endpoints are still used`);
    const text = `${lost}, and its endpoints were removed until it returns`;
    return expired.length === sourcesOf(input).length ? broken(text) : ok(`${text}; others are used`);
  }
  if (suspect.length > 0) return unknown(`the lease of ${listText(suspect)} is late or missing`);
  return ok('the leases of all source clusters are renewed');
}

const sourcesOf = ({ merged: { order }, actual }: WhyInput): readonly string[] => [
  ...new Set([...order, ...importedFrom(actual)]),
];

/** A cluster's own endpoints need no connection to it. */
const otherSources = (input: WhyInput): readonly string[] =>
  sourcesOf(input).filter((cluster) => cluster !== input.from.id);

const lostSources = (input: WhyInput): readonly string[] =>
  otherSources(input).filter((cluster) => input.leases.get(cluster) === 'expired');

/** The sources in the existing import, which include clusters that cannot be read now. */
const importedFrom = ({ serviceImport, importedService }: Actual): readonly string[] =>
  (serviceImport?.status?.clusters ?? importedService?.spec?.clusters ?? []).map(({ cluster }) => cluster);

const hasSlicesOf = (source: string, { slices }: Actual): boolean =>
  slices.some((slice) => isOurSlice(slice) && slice.metadata.labels?.[sourceClusterLabel] === source);

function dnsStep({ api, merged, actual, dns }: WhyInput): Finding {
  if (dns === undefined) return unknown('DNS was not queried');
  const { name, addresses } = dns;
  const { importedService, serviceImport } = actual;
  if (addresses.length === 0 && (api === 'supercluster' ? importedService : serviceImport) === undefined)
    return unknown(`${name} does not resolve: there is no import`);
  if (addresses.length === 0)
    return broken(`${name} does not resolve: check that the DNS server of this cluster serves the zone`);
  const wanted = addressesIn(api, actual);
  const isHeadless = merged.views[api]?.type === 'Headless';
  if (isHeadless || wanted.some((ip) => addresses.includes(ip)))
    return ok(`${name} resolves to ${listText(addresses)}`);
  return broken(
    `${name} resolves to ${listText(addresses)} and not to ${listText(wanted) || 'an address of the import'}`,
  );
}
