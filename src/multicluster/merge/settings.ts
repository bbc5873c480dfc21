// What is not a port and must agree, and where clusters disagree about it.
import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import { disagreement } from './disagreement.ts';
import type { Component } from './component.ts';
import type { Conflict } from './conflict.ts';

const setTo =
  (field: string) =>
  (value: unknown): string =>
    value === undefined
      ? `remove ${field}`
      : `set ${field} to ${typeof value === 'string' ? value : JSON.stringify(value)}`;

/** The families that all clusters have, in the order of the first; those of the first when they have none in common. */
export function commonFamilies(components: readonly Component[]): readonly IpFamily[] {
  const [first, ...others] = components;
  if (first === undefined) return [];
  const common = first.families.filter((family) => others.every(({ families }) => families.includes(family)));
  return common.length > 0 ? common : first.families;
}

/** Type and family: with ports, what the seed calls global (MCS-120). */
export function globalConflicts(components: readonly Component[]): readonly Conflict[] {
  const haveCommonFamily = (components[0]?.families ?? []).some((family) =>
    components.every(({ families }) => families.includes(family)),
  );
  return [
    ...disagreement(components, {
      field: 'spec.type',
      reason: 'TypeConflict',
      rule: 'the Service is headless in all clusters or in none',
      shapes: ['seed', 'current'],
      valueOf: ({ type }) => type,
      remedy: (type) =>
        type === 'Headless'
          ? 'replace the Service by one with clusterIP None'
          : 'replace the Service by one that has a cluster IP',
    }),
    ...disagreement(components, {
      field: 'spec.ipFamilies',
      reason: 'IPFamilyConflict',
      rule: haveCommonFamily
        ? 'the first family of the Service is the same in all clusters'
        : 'all clusters have an IP family in common',
      // Today's API shows the families that are common; the seed has one, and no other can take its place (MCS-128).
      shapes: haveCommonFamily ? ['seed'] : ['seed', 'current'],
      valueOf: ({ families }) => families[0],
      remedy: (family) => `deploy a new Service whose first family is ${String(family)}`,
    }),
  ];
}

/** What is each cluster's own in the seed (MCS-130, MCS-131), and one for all in today's API. */
export function sharedConflicts(components: readonly Component[]): readonly Conflict[] {
  const affinityOf = ({ settings }: Component): string => settings.sessionAffinity ?? 'None';
  const exporting = components.filter(({ exported }) => exported !== undefined);
  const current = { shapes: ['current'] } as const;
  return [
    ...disagreement(components, {
      ...current,
      field: 'spec.sessionAffinity',
      reason: 'SessionAffinityConflict',
      rule: 'session affinity is the same in all clusters',
      valueOf: affinityOf,
      remedy: setTo('sessionAffinity'),
    }),
    // A timeout means nothing where there is no affinity.
    ...disagreement(
      components.filter((component) => affinityOf(component) === 'ClientIP'),
      {
        ...current,
        field: 'spec.sessionAffinityConfig',
        reason: 'SessionAffinityConfigConflict',
        rule: 'the settings of session affinity are the same in all clusters',
        valueOf: ({ settings }) => settings.sessionAffinityConfig,
        remedy: setTo('sessionAffinityConfig'),
      },
    ),
    ...disagreement(components, {
      ...current,
      field: 'spec.internalTrafficPolicy',
      reason: 'InternalTrafficPolicyConflict',
      rule: 'the internal traffic policy is the same in all clusters',
      valueOf: ({ internalTrafficPolicy }) => internalTrafficPolicy ?? 'Cluster',
      remedy: setTo('internalTrafficPolicy'),
    }),
    ...disagreement(components, {
      ...current,
      field: 'spec.trafficDistribution',
      reason: 'TrafficDistributionConflict',
      rule: 'the traffic distribution is the same in all clusters',
      valueOf: ({ trafficDistribution }) => trafficDistribution,
      remedy: setTo('trafficDistribution'),
    }),
    ...disagreement(exporting, {
      ...current,
      field: 'spec.exportedLabels',
      reason: 'LabelsConflict',
      rule: 'the exported labels are the same in all clusters',
      valueOf: ({ exported }) => exported?.labels,
      remedy: setTo('exportedLabels'),
    }),
    ...disagreement(exporting, {
      ...current,
      field: 'spec.exportedAnnotations',
      reason: 'AnnotationsConflict',
      rule: 'the exported annotations are the same in all clusters',
      valueOf: ({ exported }) => exported?.annotations,
      remedy: setTo('exportedAnnotations'),
    }),
  ];
}
