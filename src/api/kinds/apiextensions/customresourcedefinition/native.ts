import type { Kind } from '../../../kind.ts';
import type { CustomResourceDefinition } from './schema.ts';

/** The kinds of the server itself that the definition describes. */
const nativeKinds = ({ spec }: CustomResourceDefinition, own: readonly Kind[]): readonly Kind[] =>
  own.filter(
    ({ group, plural, kind }) => group === spec.group && (plural === spec.names.plural || kind === spec.names.kind),
  );

/** Whether the server itself serves what the definition describes. */
export const isNative = (crd: CustomResourceDefinition, own: readonly Kind[]): boolean =>
  nativeKinds(crd, own).length > 0;

/**
 * Why a definition cannot be accepted beside a kind that the server itself serves; undefined if it describes that kind, or if
 * there is none. Accepting it changes nothing, so that installers that contain the definition work.
 */
export function nativeConflict(crd: CustomResourceDefinition, own: readonly Kind[]): string | undefined {
  const [native, ...others] = nativeKinds(crd, own);
  if (native === undefined) return undefined;
  const { group, names, scope, versions } = crd.spec;
  const what = `this server itself serves ${native.plural}.${group}`;
  const differences = (
    [
      ['plural', names.plural, native.plural],
      ['kind', names.kind, native.kind],
      ['scope', scope, native.namespaced ? 'Namespaced' : 'Cluster'],
    ] as const
  ).flatMap(([name, wanted, is]) => (wanted === is ? [] : [`${name} ${JSON.stringify(is)}`]));
  if (differences.length > 0) return `${what} with ${differences.join(' and ')}`;
  const served = [native, ...others].map(({ version }) => version);
  const missing = (versions ?? []).filter((version) => version.served && !served.includes(version.name));
  if (missing.length === 0) return undefined;
  const list = (words: readonly string[]): string => words.map((word) => JSON.stringify(word)).join(', ');
  return `${what} in ${served.length > 1 ? 'versions' : 'version'} ${list(served)}, not in ${list(missing.map(({ name }) => name))}`;
}
