// The names, labels and annotations by which what this controller writes is found, and told from what others write.
import { createHash } from 'node:crypto';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { importNameLabel, seedImportNameLabel } from '../../api/kinds/multicluster/labels.ts';
import { trimEnd } from '../../api/text.ts';
import type { ServiceKey, Shape } from '../record.ts';

/** The value of the managed-by label on slices (MCS-62); nothing with another value is ever changed (MCS-71). */
export const managedBy = 'mcsd-controller.fairlead.dev';

/** On imports and derived Services, with the value `managedBy`: that they are this controller's. */
export const objectManagedByLabel = 'app.kubernetes.io/managed-by';

/** On a slice: the import of each shape that it belongs to (MCS-63). */
export const importNameLabels: { readonly [shape in Shape]: string } = {
  seed: seedImportNameLabel,
  current: importNameLabel,
};

/** On a slice: the slice it mirrors, by its name in the source cluster. */
export const sourceSliceAnnotation = 'fairlead.dev/source-slice';

/** On a ServiceImport: the Service through which a stock proxy serves it. */
export const derivedServiceAnnotation = 'multicluster.kubernetes.io/derived-service';

/** On an export, until it has been withdrawn everywhere (MCS-21). */
export const exportFinalizer = 'fairlead.dev/multicluster-export';

/** Whether an import or a derived Service is this controller's. */
export const isOurs = ({ metadata: { labels } }: ApiObject): boolean => labels?.[objectManagedByLabel] === managedBy;

/** Whether a slice is this controller's. */
export const isOurSlice = ({ metadata: { labels } }: ApiObject): boolean => labels?.[managedByLabel] === managedBy;

/** The customary name of the Service derived from an import. */
export const derivedName = ({ namespace, name }: ServiceKey): string =>
  `derived-${digest(`${namespace}/${name}`).slice(0, 10)}`;

/** What a slice mirrors. */
export interface SliceSource extends ServiceKey {
  readonly cluster: string;
  /** The name of the slice in its own cluster. */
  readonly slice: string;
  /** In the name because it cannot be changed: a slice that comes back with another type is another slice. */
  readonly addressType: string;
}

const maxNameLength = 253;

/**
 * The name of a mirrored slice, `imported-<service>-<cluster>-<n>` (MCS-65). It depends on the source slice alone, and
 * two sources never share one: `n` is a digest of all parts, each with its length before it, so that no two ways to
 * split a text into parts are alike (sheet 5.7, T9).
 */
export function sliceName(source: SliceSource): string {
  const { cluster, namespace, name, slice, addressType } = source;
  const parts = [cluster, namespace, name, slice, addressType].map((part) => `${part.length}:${part}`);
  const suffix = `-${digest(parts.join('')).slice(0, 12)}`;
  const stem = `imported-${name}-${cluster}`.slice(0, maxNameLength - suffix.length);
  // A cut may end in a dot or a hyphen, which a name cannot have before another.
  return `${trimEnd(stem, '-.')}${suffix}`;
}

const alphabet = '0123456789abcdefghijklmnopqrstuv';

/** SHA-256 in base32hex, in lower case. */
function digest(text: string): string {
  let letters = '';
  let bits = 0;
  let value = 0;
  for (const byte of createHash('sha256').update(text).digest()) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      letters += alphabet[(value >> bits) & 31] ?? '';
    }
  }
  return letters;
}
