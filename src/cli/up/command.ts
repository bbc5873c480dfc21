import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Manifest } from './manifests.ts';
import { version } from '../program.ts';
import { addFlags, readSettings } from '../options/flags.ts';
import { partSections } from '../parts.ts';
import type { Streams } from '../output.ts';
import type { ControlPlane } from './control-plane.ts';
import { runControlPlane } from './control-plane.ts';
import { upFlags } from './flags.ts';
import type { UpOptions } from './options.ts';
import { readUpOptions } from './options.ts';
import { builtParts } from './parts.ts';
import { readyReport } from './report.ts';

export function define(command: Command): void {
  addFlags(command, upFlags);
  command
    .description('Run everything for one or more clusters on this machine, until Ctrl-C.')
    .addHelpText(
      'before',
      `Example:
  fairlead up --cluster blue --cluster green --apply shop.yaml@blue
  KUBECONFIG=.fairlead/kubeconfig kubectl --context blue get services
`,
    )
    .addHelpText(
      'after',
      `
Each cluster has its Services in 127.64.0.0/16, 127.65.0.0/16 and so on, which every Linux machine can reach without
set-up. For that, endpoints may be in these loopback ranges, which Kubernetes itself refuses.

The file of --config may have a section for each part, such as "dns:", with the flags of its own command as keys.\n`,
    );
}

export async function execute(command: Command, { out, err }: Streams): Promise<number> {
  const options = readUpOptions(await readSettings(command, upFlags, { sections: partSections }));
  if (options.missing.length > 0) err(`fairlead: parts not built yet: ${options.missing.join(', ')}\n`);
  const manifests = await readAll(options.apply);
  const parts = [...options.parts].filter((name) => name !== 'server' && builtParts.has(name));
  const prepare = async (plane: ControlPlane): Promise<string> => {
    for (const { name } of plane.state.clusters) {
      const own = manifests.filter(({ cluster }) => cluster === undefined || cluster === name);
      if (own.length > 0) await applyTo(name, own, plane);
    }
    const report = readyReport(plane.state, {
      version,
      kubeconfig: resolve(plane.directory.at('kubeconfig')),
      readyMs: plane.readyMs,
      colour: process.stdout.isTTY && process.stdout.hasColors(),
    });
    return options.demo ? report + (await (await import('./demo/demo.ts')).startDemo(plane)) : report;
  };
  return runControlPlane({ ...options, parts, portFlag: '--port-base' }, { prepare, out });
}

type Targeted = Manifest & { readonly cluster: string | undefined };

/** Reads everything before anything starts: a file that cannot be read is a usage error, not a half-made cluster. */
async function readAll(sources: UpOptions['apply']): Promise<readonly Targeted[]> {
  if (sources.length === 0) return [];
  const { readManifests } = await import('./manifests.ts');
  const lists = sources.map(async ({ path, cluster }) =>
    (await readManifests(path)).map((manifest) => ({ ...manifest, cluster })),
  );
  return (await Promise.all(lists)).flat();
}

async function applyTo(name: string, manifests: readonly Manifest[], { connect }: ControlPlane): Promise<void> {
  const { applyManifests } = await import('./apply.ts');
  using transport = connect(name);
  await applyManifests(transport, name, manifests);
}
