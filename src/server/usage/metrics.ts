// NodeMetrics and PodMetrics, computed from what nodes report.

import { notFound } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { NodeMetrics } from '../../api/kinds/metrics/nodemetrics/kind.ts';
import { nodeMetricsKind } from '../../api/kinds/metrics/nodemetrics/kind.ts';
import type { PodMetrics } from '../../api/kinds/metrics/podmetrics/kind.ts';
import { podMetricsKind } from '../../api/kinds/metrics/podmetrics/kind.ts';
import { timestamp } from '../../api/timestamp.ts';
import { Item } from '../cache/item.ts';
import { layoutOf, serialise } from '../cache/layout.ts';
import type { ServerContext } from '../context.ts';
import { nodeAddressOf } from '../nodes/node-address.ts';
import type { NodeAddress } from '../nodes/node-address.ts';
import type { ApiCall, ListReply, Reply } from '../reply.ts';
import { objectReply, presentedHeaders } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import { parseSelection } from '../selection.ts';
import { presenterFor } from '../verbs/presenter-for.ts';
import type { Summary, Usage } from './node-usage.ts';

/** Nodes measure over at least this long. */
const window = '10s';

/** Whether objects of the kind are computed here. */
export const isComputed = (kind: Kind): boolean => kind === nodeMetricsKind || kind === podMetricsKind;

/** GET and list of what Nodes and Pods use. Those without a report are left out, as by metrics-server. */
export async function readMetrics(
  context: ServerContext,
  kind: Kind,
  info: ResourceRequest,
  { request }: ApiCall,
): Promise<Reply | ListReply> {
  const presenter = presenterFor(context, kind, info, request);
  const measured = kind === nodeMetricsKind ? context.watchCache.of(nodeKind) : context.watchCache.of(podKind);
  const selection = parseSelection(kind, info.query);
  const key = info.name === '' ? undefined : measured.key(info.namespace, info.name);
  const items =
    key === undefined ? [...measured.walk(measured.scope(info.namespace))] : [measured.get(key) ?? []].flat();
  const selected = items.filter((item) => selection.matches?.(item) ?? true);
  const objects = await (kind === nodeMetricsKind
    ? nodeMetrics(
        context,
        selected.map(({ object }) => object as Node),
      )
    : podMetrics(
        context,
        selected.map(({ object }) => object as Pod),
      ));
  const layout = layoutOf(kind);
  const computed = objects.map(
    (object) => new Item({ key: '', value: serialise(layout, object), revision: 0, created: 0 }, layout),
  );
  if (info.verb === 'list') {
    const list = presenter.list(computed, { resourceVersion: '' });
    return { status: 200, headers: presentedHeaders(presenter.contentType), list };
  }
  const [only] = computed;
  if (only === undefined) throw notFound({ group: kind.group, resource: kind.plural, name: info.name });
  return objectReply(200, presenter, only);
}

async function nodeMetrics(context: ServerContext, nodes: readonly Node[]): Promise<readonly NodeMetrics[]> {
  const reports = await context.usage.of(addressesOf(context, nodes));
  return nodes.flatMap(({ metadata: { name = '', labels } }): NodeMetrics[] => {
    const usage = usageOf(reports.get(name)?.node);
    if (usage === undefined) return [];
    const metadata = {
      name,
      creationTimestamp: timestamp(context.clock()),
      ...(labels === undefined ? {} : { labels }),
    };
    return [{ metadata, ...intervalOf(context, reports.get(name)?.node), usage }];
  });
}

async function podMetrics(context: ServerContext, pods: readonly Pod[]): Promise<readonly PodMetrics[]> {
  const cache = context.watchCache.of(nodeKind);
  const names = new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []));
  const nodes = [...names].flatMap((name) => (cache.get(cache.key('', name))?.object as Node | undefined) ?? []);
  const reports = await context.usage.of(addressesOf(context, nodes));
  return pods.flatMap(({ metadata, spec, status }): PodMetrics[] => {
    const { uid, name = '', namespace = '', labels } = metadata;
    if (status.phase !== 'Running') return [];
    // A node reports about its own Pods only.
    const report = podOf(reports.get(spec.nodeName ?? ''), uid ?? '');
    const containers = (report?.containers ?? []).flatMap((container) => {
      const usage = usageOf(container);
      return usage === undefined || typeof container.name !== 'string' ? [] : [{ name: container.name, usage }];
    });
    if (containers.length === 0) return [];
    const described = {
      name,
      namespace,
      creationTimestamp: timestamp(context.clock()),
      ...(labels === undefined ? {} : { labels }),
    };
    return [{ metadata: described, ...intervalOf(context, report?.containers?.[0]), containers }];
  });
}

function podOf(summary: Summary | undefined, uid: string): NonNullable<Summary['pods']>[number] | undefined {
  const pods = summary?.pods;
  return Array.isArray(pods)
    ? pods.find((pod: NonNullable<Summary['pods']>[number] | null) => pod?.podRef?.uid === uid)
    : undefined;
}

function addressesOf({ nodes: client }: ServerContext, nodes: readonly Node[]): ReadonlyMap<string, NodeAddress> {
  const addresses = new Map<string, NodeAddress>();
  for (const node of nodes) {
    const { name = '' } = node.metadata;
    try {
      addresses.set(name, nodeAddressOf(name, node, client.addressTypes));
    } catch {
      // Nobody runs a server for this Node.
    }
  }
  return addresses;
}

/** The amounts of a report; undefined if it has none. */
function usageOf(report: Usage | undefined): Record<string, string> | undefined {
  const cores = report?.cpu?.usageNanoCores;
  const bytes = report?.memory?.workingSetBytes;
  if (!isAmount(cores) || !isAmount(bytes)) return undefined;
  return { cpu: `${Math.round(cores)}n`, memory: `${Math.round(bytes / 1024)}Ki` };
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < 1e18;

function intervalOf({ clock }: ServerContext, report: Usage | undefined): { timestamp: string; window: string } {
  const measured = Date.parse(report?.cpu?.time ?? '');
  return { timestamp: timestamp(Number.isNaN(measured) ? clock() : measured), window };
}
