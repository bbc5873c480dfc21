// The names, labels and annotations that identify the objects of this controller.
import { createHash } from 'node:crypto';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { importNameLabel, importedServiceNameLabel } from '../../api/kinds/multicluster/labels.ts';
import { trimEnd } from '../../api/text.ts';
import type { ServiceKey, McsApi } from '../record.ts';

/** The value of the managed-by label on slices (MCS-62); slices with another value are never changed (MCS-71). */
export const managedBy = 'mcsd-controller.fairlead.dev';

/** On imports and derived Services of this controller, with the value `managedBy`. */
export const objectManagedByLabel = 'app.kubernetes.io/managed-by';

/** On a slice: the name of its import in each API (MCS-63). */
export const importNameLabels: { readonly [api in McsApi]: string } = {
  supercluster: importedServiceNameLabel,
  clusterset: importNameLabel,
};

/** On a slice: the name of its source slice in the source cluster. */
export const sourceSliceAnnotation = 'fairlead.dev/source-slice';

/** On a ServiceImport: the Service through which a stock proxy serves it. */
export const derivedServiceAnnotation = 'multicluster.kubernetes.io/derived-service';

/** On an export until it is withdrawn from all clusters (MCS-21). */
export const exportFinalizer = 'fairlead.dev/multicluster-export';

/** Whether an import or a derived Service belongs to this controller. */
export const isOurs = ({ metadata: { labels } }: ApiObject): boolean => labels?.[objectManagedByLabel] === managedBy;

/** Whether a slice belongs to this controller. */
export const isOurSlice = ({ metadata: { labels } }: ApiObject): boolean => labels?.[managedByLabel] === managedBy;

/** The name of the Service derived from an import, as other implementations choose it. */
export const derivedName = ({ namespace, name }: ServiceKey): string =>
  `derived-${digest(`${namespace}/${name}`).slice(0, 10)}`;

/** The source of a mirrored slice. */
export interface SliceSource extends ServiceKey {
  readonly cluster: string;
  /** The name of the slice in its own cluster. */
  readonly slice: string;
  /** Part of the name because it is immutable: a slice that is re-created with another type gets another name. */
  readonly addressType: string;
}

const maxNameLength = 253;

/**
 * The name of a mirrored slice, `imported-<service>-<cluster>-<n>` (MCS-65). It depends only on the source slice, and differs for
 * all sources: `n` is a digest of all parts, each prefixed with its length so that the concatenation is unambiguous.
 */
export function sliceName(source: SliceSource): string {
  const { cluster, namespace, name, slice, addressType } = source;
  const parts = [cluster, namespace, name, slice, addressType].map((part) => `${part.length}:${part}`);
  const suffix = `-${digest(parts.join('')).slice(0, 12)}`;
  const stem = `imported-${name}-${cluster}`.slice(0, maxNameLength - suffix.length);
  // The truncated text may end in a dot or hyphen, which must not precede another hyphen.
  return `${trimEnd(stem, '-.')}${suffix}`;
}

const alphabet = '0123456789abcdefghijklmnopqrstuv';

/** SHA-256 in lower-case base32hex. */
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
