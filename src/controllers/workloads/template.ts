// Pods made from templates, and hashes of templates.
import type { Pod, PodTemplateSpec } from '../../api/kinds/core/pod/schema.ts';
import type { OwnerReference } from '../../api/metadata.ts';

/** The identity of a Pod that is made from a template; the server generates the name if `name` is absent. */
export interface PodIdentity {
  readonly namespace: string;
  readonly owner: OwnerReference;
  readonly name?: string;
  readonly generateName?: string;
}

/** A prefix of names of 63 characters at most: the server adds five. */
const maxPrefix = 58;

/** The Pod that a template describes. */
export function podFromTemplate(
  { metadata, spec }: PodTemplateSpec,
  { namespace, owner, name, ...rest }: PodIdentity,
): Pod {
  const { labels, annotations, finalizers } = metadata;
  const generateName = (rest.generateName ?? `${owner.name}-`).slice(0, maxPrefix);
  const pod = {
    metadata: {
      namespace,
      generateName,
      ...(name === undefined ? {} : { name }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [owner],
    },
    spec,
    status: {},
  };
  return pod;
}

const safeCharacters = 'bcdfghjklmnpqrstvwxz2456789';

/** The text of a hash in names: without vowels, so that no words arise. */
export const safeText = (hash: number): string =>
  Array.from(String(hash), (digit) => safeCharacters[digit.charCodeAt(0) % safeCharacters.length]).join('');

/** The hash of a template, for the label `pod-template-hash`; `collisions` makes another hash of the same template. */
export const templateHash = (template: PodTemplateSpec, collisions = 0): string =>
  safeText(fnv1a(canonicalJson(template) + (collisions === 0 ? '' : String(collisions))));

/** JSON with sorted keys, so that the order of fields does not matter. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  );
}

const prime = 0x01000193;
const offset = 0x811c9dc5;

/** FNV-1a of 32 bits. */
function fnv1a(text: string): number {
  let hash = offset;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}

/** FNV-1 of 32 bits, which names revisions. */
export function fnv1(text: string): number {
  let hash = offset;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash, prime) ^ byte;
  return hash >>> 0;
}
