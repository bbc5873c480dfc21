// Which manifests an installation consists of.
import { definitionsFor, groupsOf } from './definitions.ts';
import type { Manifest } from './manifest.ts';
import { installed, namespaceManifest } from './manifest.ts';
import { manifestsOf } from './parts.ts';
import { concrete } from './source.ts';
import type { InstalledPart, Values } from './values.ts';
import { installedParts } from './values.ts';

export interface Installation {
  readonly values: Values;
  readonly namespace: string;
  /** The version of the image, if the values have none. */
  readonly version: string;
}

/** The parts that the values enable. */
export const enabledParts = (values: Values): readonly InstalledPart[] =>
  installedParts.filter((part) => values[part]?.['enabled'] === true);

/** The groups whose kinds the cluster must have. */
export const neededGroups = (values: Values): readonly string[] =>
  values['crds']?.['install'] === true ? enabledParts(values).flatMap(groupsOf) : [];

/** All manifests but the definitions of kinds, in the order in which they are created. */
export const partManifests = ({ values, namespace, version }: Installation): readonly Manifest[] => [
  installed(namespaceManifest(namespace), 'namespace'),
  ...installedParts
    .flatMap((part) => manifestsOf(part, concrete(values, { namespace, version })))
    .filter(({ when }) => when.every(([section, key]) => values[section]?.[key] === true))
    .map(({ manifest }) => manifest),
];

/** All manifests, for a cluster that is not read. */
export const allManifests = (installation: Installation): readonly Manifest[] => [
  ...definitionsFor(neededGroups(installation.values)),
  ...partManifests(installation),
];
