// The public name of a merged service, as the multi-cluster controller passes it to the publisher.
import { isJsonObject } from '../../schema/json-object.ts';
import type { ExposedPort } from '../core/service/exposure.ts';

/**
 * On an import: a MergedPublication as JSON. Set if an export, or the Service that it exports, names a public host name.
 */
export const publicationAnnotation = 'fairlead.dev/publication';

/** Where clients reach the service in one cluster. */
export interface ClusterTargets {
  readonly cluster: string;
  /** Addresses of the load balancer, or its host names. */
  readonly targets: readonly string[];
  readonly ports: readonly ExposedPort[];
  /** The cluster drains: its targets are left out while another cluster can replace them. */
  readonly draining?: true;
}

/** The public name of a merged service. */
export interface MergedPublication {
  /** As in the annotation. */
  readonly hostname: string;
  /** As in the annotation; undefined: the default. */
  readonly ttl?: string;
  /** The exporting clusters that use the same host name, the oldest export first. */
  readonly clusters: readonly ClusterTargets[];
}

/** The value of the annotation. */
export const printPublication = (publication: MergedPublication): string => JSON.stringify(publication);

/** Parses the annotation; undefined if it is malformed, because users can edit imports. */
export function parsePublication(text: string): MergedPublication | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isPublication(value) ? value : undefined;
  } catch {
    return undefined; // no JSON
  }
}

type Fields = Readonly<Record<string, unknown>>;

const isPublication = (value: unknown): value is MergedPublication =>
  isJsonObject(value) &&
  typeof value['hostname'] === 'string' &&
  (value['ttl'] === undefined || typeof value['ttl'] === 'string') &&
  isListOf(value['clusters'], isClusterTargets);

const isClusterTargets = (value: Fields): boolean =>
  typeof value['cluster'] === 'string' &&
  Array.isArray(value['targets']) &&
  value['targets'].every((target) => typeof target === 'string') &&
  isListOf(value['ports'], isExposedPort) &&
  (value['draining'] === undefined || value['draining'] === true);

const isExposedPort = ({ label, protocol, port }: Fields): boolean =>
  typeof label === 'string' && typeof protocol === 'string' && typeof port === 'number';

const isListOf = (value: unknown, isElement: (value: Fields) => boolean): boolean =>
  Array.isArray(value) && value.every((each) => isJsonObject(each) && isElement(each));
