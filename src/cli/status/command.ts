import type { Overview } from '../../dashboard/view/overview.ts';
import type { Command } from '../command.ts';
import { outputFlag, readFlag } from '../options/flags.ts';
import { parseDuration } from '../options/values.ts';
import { columns } from '../../api/text.ts';
import { rendered } from '../output.ts';
import { contextsText, findCluster } from '../part/cluster-access.ts';
import { clientOf, selectClusters, severalClusterFlags } from '../part/several-clusters.ts';

/** `fairlead status`: the overview of the map, in the terminal. */
export const command: Command = {
  description:
    'Print the state of all clusters, and what needs attention: lost clusters, conflicts, rejected load balancers, Services without ready endpoints. Exits with 1 if there are errors, and with 3 if a cluster cannot be read.',
  examples: ['fairlead status', 'fairlead status --kubeconfig prod.kubeconfig --context eu --context us -o json'],
  flags: [
    { name: 'timeout', value: 'DURATION', description: 'how long to wait for a cluster', default: '10s' },
    ...severalClusterFlags,
    outputFlag,
  ],
  async run({ settings, streams }) {
    const timeoutMs = readFlag(settings, 'timeout', parseDuration, 10_000);
    const found = await findCluster(settings, process.env);
    const selected = await selectClusters(settings, found, process.env);
    const contexts = selected.map(({ name }) => name);
    streams.err(`using ${contextsText(contexts, found.source)}\n`);
    const clusters = selected.map((cluster) => ({
      name: cluster.name,
      server: cluster.access.server,
      client: clientOf(cluster),
    }));
    try {
      const { readOverview } = await import('../../dashboard/server/read-overview.ts');
      const log = { debug: () => {}, warn: () => {} };
      const overview = await readOverview(clusters, { timeoutMs, log });
      streams.out(await rendered(settings, overview, () => lines(overview)));
      return exitCode(overview);
    } finally {
      for (const { client } of clusters) client[Symbol.dispose]();
    }
  },
};

function exitCode({ clusters, findings }: Overview): number {
  if (clusters.some(({ state }) => state !== 'ok')) return 3;
  return findings.error > 0 ? 1 : 0;
}

/** More lines would scroll the first ones, which are the most severe, off the screen. */
const maxLines = 50;

/** The overview for people. */
export function lines({ clusters, attention }: Overview): readonly string[] {
  const hidden = attention.length - maxLines;
  return [
    ...columns([
      ['CLUSTER', 'STATE', 'VERSION', 'SERVICES', 'READY', 'LOAD BALANCERS', 'EXPORTS', 'IMPORTS'],
      ...clusters.map((cluster) => [
        cluster.cluster,
        cluster.state,
        cluster.version ?? '-',
        String(cluster.services),
        readyText(cluster.endpoints),
        String(cluster.loadBalancers),
        String(cluster.exports),
        String(cluster.imports),
      ]),
    ]),
    '',
    ...(attention.length === 0 ? ['nothing needs attention'] : []),
    ...columns(
      attention
        .slice(0, maxLines)
        .map(({ level, cluster, namespace, name, reason, text }) => [
          level,
          cluster,
          name === undefined ? '-' : `${namespace}/${name}`,
          reason,
          text,
        ]),
    ),
    ...(hidden > 0 ? [`and ${hidden} more: pass -o json`] : []),
  ];
}

const readyText = ({ ready, notReady, terminating }: Overview['clusters'][number]['endpoints']): string =>
  `${ready}/${ready + notReady + terminating}`;
