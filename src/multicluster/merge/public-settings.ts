// The annotations of exports and Services that set the public name of a service.
import { listOf, publicationAnnotationOf } from '../../api/kinds/core/service/public-name.ts';
import type { ClusterExport } from '../record.ts';
import { exportsOf } from '../record.ts';

/** The value of an annotation of the exports of a cluster, else of the Service. */
export function publicSetting(record: ClusterExport, name: string): string | undefined {
  for (const { metadata } of [...exportsOf(record), ...(record.service === undefined ? [] : [record.service])]) {
    const value = publicationAnnotationOf(metadata.annotations, name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Host names in canonical form, so that different spaces or another order are no conflict. */
export const hostnamesText = (hostname: string | undefined): string | undefined =>
  hostname === undefined ? undefined : listOf(hostname.toLowerCase()).toSorted().join(',');
