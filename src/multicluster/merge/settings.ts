// Conflicts over everything except ports: type, IP families and settings.
import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import { fieldConflict } from './field-conflict.ts';
import type { Component } from './component.ts';
import type { Conflict } from './conflict.ts';
import { mcsApis } from '../record.ts';

const setTo =
  (field: string) =>
  (value: unknown): string =>
    value === undefined
      ? `remove ${field}`
      : `set ${field} to ${typeof value === 'string' ? value : JSON.stringify(value)}`;

/** The families that all clusters share, in the order of the first cluster; without any, those of the first cluster. */
export function commonFamilies(components: readonly Component[]): readonly IpFamily[] {
  const [first, ...others] = components;
  if (first === undefined) return [];
  const common = first.families.filter((family) => others.every(({ families }) => families.includes(family)));
  return common.length > 0 ? common : first.families;
}

/** Conflicts over type and IP family, which are global properties in both APIs (MCS-120). */
export function globalConflicts(components: readonly Component[]): readonly Conflict[] {
  const haveCommonFamily = (components[0]?.families ?? []).some((family) =>
    components.every(({ families }) => families.includes(family)),
  );
  return [
    ...fieldConflict(components, {
      field: 'spec.type',
      reason: 'TypeConflict',
      rule: 'the Service must be headless in all clusters or in none',
      apis: mcsApis,
      valueOf: ({ type }) => type,
      fixText: (type) =>
        type === 'Headless'
          ? 'replace the Service by one with clusterIP None'
          : 'replace the Service by one that has a cluster IP',
    }),
    ...fieldConflict(components, {
      field: 'spec.ipFamilies',
      reason: 'IPFamilyConflict',
      rule: haveCommonFamily
        ? 'the first IP family must be the same in all clusters'
        : 'all clusters must have an IP family in common',
      // The clusterset API serves the common families; the supercluster API has one family, which must be equal (MCS-128).
      apis: haveCommonFamily ? ['supercluster'] : mcsApis,
      valueOf: ({ families }) => families[0],
      fixText: (family) => `deploy a new Service whose first family is ${String(family)}`,
    }),
  ];
}

/** Conflicts over settings that are per cluster in the supercluster API (MCS-130, MCS-131) and global in the clusterset API. */
export function settingConflicts(components: readonly Component[]): readonly Conflict[] {
  const affinityOf = ({ settings }: Component): string => settings.sessionAffinity ?? 'None';
  const exporting = components.filter(({ exported }) => exported !== undefined);
  const clusterset = { apis: ['clusterset'] } as const;
  return [
    ...fieldConflict(components, {
      ...clusterset,
      field: 'spec.sessionAffinity',
      reason: 'SessionAffinityConflict',
      rule: 'session affinity must be the same in all clusters',
      valueOf: affinityOf,
      fixText: setTo('sessionAffinity'),
    }),
    // The config has no effect without ClientIP affinity.
    ...fieldConflict(
      components.filter((component) => affinityOf(component) === 'ClientIP'),
      {
        ...clusterset,
        field: 'spec.sessionAffinityConfig',
        reason: 'SessionAffinityConfigConflict',
        rule: 'the settings of session affinity must be the same in all clusters',
        valueOf: ({ settings }) => settings.sessionAffinityConfig,
        fixText: setTo('sessionAffinityConfig'),
      },
    ),
    ...fieldConflict(components, {
      ...clusterset,
      field: 'spec.internalTrafficPolicy',
      reason: 'InternalTrafficPolicyConflict',
      rule: 'the internal traffic policy must be the same in all clusters',
      valueOf: ({ internalTrafficPolicy }) => internalTrafficPolicy ?? 'Cluster',
      fixText: setTo('internalTrafficPolicy'),
    }),
    ...fieldConflict(components, {
      ...clusterset,
      field: 'spec.trafficDistribution',
      reason: 'TrafficDistributionConflict',
      rule: 'the traffic distribution must be the same in all clusters',
      valueOf: ({ trafficDistribution }) => trafficDistribution,
      fixText: setTo('trafficDistribution'),
    }),
    ...fieldConflict(exporting, {
      ...clusterset,
      field: 'spec.exportedLabels',
      reason: 'LabelsConflict',
      rule: 'the exported labels must be the same in all clusters',
      valueOf: ({ exported }) => exported?.labels,
      fixText: setTo('exportedLabels'),
    }),
    ...fieldConflict(exporting, {
      ...clusterset,
      field: 'spec.exportedAnnotations',
      reason: 'AnnotationsConflict',
      rule: 'the exported annotations must be the same in all clusters',
      valueOf: ({ exported }) => exported?.annotations,
      fixText: setTo('exportedAnnotations'),
    }),
    ...fieldConflict(components, {
      ...clusterset,
      field: 'metadata.annotations[fairlead.dev/hostname]',
      reason: 'HostnameConflict',
      rule: 'the public host names must be the same in all clusters that set them',
      valueOf: ({ hostname }) => hostname,
      counts: (value) => value !== undefined,
      prefersDefined: true,
      fixText: setTo('the annotation fairlead.dev/hostname'),
    }),
  ];
}
