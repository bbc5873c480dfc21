// The identity of the Pods of a StatefulSet: name, hostname, labels and claims follow from the ordinal.
import { statefulSetKind } from '../../../api/kinds/apps/statefulset/kind.ts';
import type { StatefulSet } from '../../../api/kinds/apps/statefulset/schema.ts';
import type { PersistentVolumeClaim } from '../../../api/kinds/core/pod/claim.ts';
import type { Pod, PodTemplateSpec } from '../../../api/kinds/core/pod/schema.ts';
import { referenceTo } from '../owner.ts';
import { revisionLabel } from '../revisions.ts';
import { podFromTemplate } from '../template.ts';

/** A template with the name of its revision. */
export interface Version {
  readonly revision: string;
  readonly template: PodTemplateSpec;
}

/** The ordinal in the name of a Pod; -1: the name is not one of this set. */
export function ordinalOf({ metadata }: StatefulSet, pod: Pod): number {
  const { name = '' } = pod.metadata;
  const prefix = `${metadata.name}-`;
  const text = name.slice(prefix.length);
  return name.startsWith(prefix) && /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : -1;
}

const nameOf = ({ metadata }: StatefulSet, ordinal: number): string => `${metadata.name}-${ordinal}`;

/** The Pod of an ordinal with the template of a revision. */
export function identified(set: StatefulSet, ordinal: number, { revision, template }: Version): Pod {
  const name = nameOf(set, ordinal);
  const { namespace = '' } = set.metadata;
  const pod = podFromTemplate(template, { namespace, owner: referenceTo(statefulSetKind, set), name });
  const claimed = claimsOf(set, ordinal).map(({ metadata }, index) => ({
    name: set.spec.volumeClaimTemplates?.[index]?.metadata.name ?? '',
    persistentVolumeClaim: { claimName: metadata.name ?? '' },
  }));
  const names = new Set(claimed.map((volume) => volume.name));
  const volumes = [...claimed, ...(pod.spec.volumes ?? []).filter((volume) => !names.has(volume.name))];
  const labels = {
    ...pod.metadata.labels,
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
    [revisionLabel]: revision,
  };
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: {
      ...pod.spec,
      ...(volumes.length === 0 ? {} : { volumes }),
      hostname: name,
      ...(set.spec.serviceName === '' ? {} : { subdomain: set.spec.serviceName }),
    },
  };
}

/** The claims of an ordinal, which outlive its Pod. */
export const claimsOf = (set: StatefulSet, ordinal: number): readonly PersistentVolumeClaim[] =>
  (set.spec.volumeClaimTemplates ?? []).map((claim) => ({
    ...claim,
    metadata: {
      ...claim.metadata,
      namespace: set.metadata.namespace ?? '',
      name: `${claim.metadata.name}-${nameOf(set, ordinal)}`,
      labels: { ...claim.metadata.labels, ...set.spec.selector?.matchLabels },
    },
  }));
