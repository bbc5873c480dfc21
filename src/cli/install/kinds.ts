import type { Kind } from '../../api/kind.ts';
import { defineKind } from '../../api/kind.ts';
import { kindNamed } from '../../api/kinds/registry.ts';
import { objectSchema } from '../../api/metadata.ts';

const foreign = (
  group: string,
  names: Pick<Kind, 'kind' | 'plural' | 'version'> & { readonly namespaced: boolean },
): Kind =>
  defineKind({
    ...names,
    group,
    custom: true,
    schema: objectSchema(names.kind, 'Of another project.', {}, { open: true }),
  });

/** Kinds that only other servers have. */
const foreignKinds: readonly Kind[] = [
  foreign('monitoring.coreos.com', {
    kind: 'ServiceMonitor',
    plural: 'servicemonitors',
    version: 'v1',
    namespaced: true,
  }),
];

/** The kind of a manifest. */
export function kindOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): Kind {
  const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const found =
    kindNamed(group, version, kind) ?? foreignKinds.find((each) => each.group === group && each.kind === kind);
  if (found === undefined) throw new Error(`bug: an installation has a ${apiVersion} ${kind}`);
  return found;
}
