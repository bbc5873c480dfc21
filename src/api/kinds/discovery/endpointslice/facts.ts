// Properties of EndpointSlices that several components decide by. Each is defined here and nowhere else.
import { importNameLabel, importedServiceNameLabel } from '../../multicluster/labels.ts';
import type { Protocol } from '../../core/service/schema.ts';
import { protocolOf } from '../../core/service/facts.ts';
import { serviceNameLabel } from './labels.ts';
import type { Endpoint, EndpointSlice } from './schema.ts';

/** Kind of owner → the label that names it. */
const ownerLabels = {
  Service: serviceNameLabel,
  ServiceImport: importNameLabel,
  ImportedService: importedServiceNameLabel,
} as const;

export type SliceOwnerKind = keyof typeof ownerLabels;

/** An object that a slice has endpoints of. */
export interface SliceOwner {
  readonly kind: SliceOwnerKind;
  /** `namespace/name`. */
  readonly key: string;
}

const ownerKinds: readonly SliceOwnerKind[] = ['Service', 'ServiceImport', 'ImportedService'];

type Labelled = Pick<EndpointSlice, 'metadata'>;

function keyAt({ metadata: { labels, namespace = '' } }: Labelled, label: string): string | undefined {
  const name = labels?.[label];
  return name === undefined || name === '' ? undefined : `${namespace}/${name}`;
}

/** The Service that a slice belongs to, as `namespace/name`; undefined without a label that names one. */
export const serviceKeyOf = (slice: Labelled): string | undefined => keyAt(slice, serviceNameLabel);

/** The index of slices by their Service. */
export function indexByService(slice: Labelled): readonly string[] {
  const key = serviceKeyOf(slice);
  return key === undefined ? [] : [key];
}

/** The imports that a slice belongs to, as `namespace/name`; a slice may name the same import in both API versions. */
export function importKeysOf(slice: Labelled): readonly string[] {
  const [clusterset, supercluster] = [keyAt(slice, importNameLabel), keyAt(slice, importedServiceNameLabel)];
  return [clusterset, supercluster === clusterset ? undefined : supercluster].filter((key) => key !== undefined);
}

/** Everything that a slice belongs to by its labels. */
export const sliceOwners = (slice: Labelled): readonly SliceOwner[] =>
  ownerKinds.flatMap((kind) => {
    const key = keyAt(slice, ownerLabels[kind]);
    return key === undefined ? [] : [{ kind, key }];
  });

type Conditioned = Pick<Endpoint, 'conditions'>;

/** Whether new connections may go to the endpoint. An unset condition counts as ready. */
export const isReady = ({ conditions }: Conditioned): boolean => conditions?.ready !== false;

/** Whether the endpoint responds to requests, terminating or not. Default: `ready`. */
export const isServing = ({ conditions }: Conditioned): boolean => conditions?.serving ?? conditions?.ready ?? true;

/** Whether the endpoint is shutting down. */
export const isTerminating = ({ conditions }: Conditioned): boolean => conditions?.terminating === true;

/** The number of the port with this name and protocol in a slice; undefined if the slice has no such port. */
export const portNumberIn = (
  { ports }: Pick<EndpointSlice, 'ports'>,
  wanted: { readonly name?: string | undefined; readonly protocol?: Protocol | undefined },
): number | undefined =>
  ports?.find((port) => (port.name ?? '') === (wanted.name ?? '') && protocolOf(port) === protocolOf(wanted))?.port;
