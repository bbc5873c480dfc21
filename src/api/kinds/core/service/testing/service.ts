import type { FieldError } from '../../../../field-errors.ts';
import type { GateName } from '../../../../gates.ts';
import { gatesWith } from '../../../../gates.ts';
import type { WriteContext } from '../../../../kind.ts';
import type { ObjectMeta } from '../../../../metadata.ts';
import { serviceKind } from '../kind.ts';
import { normalizeClusterIPs } from '../normalize.ts';
import type { Service, ServicePort, ServiceSpec } from '../schema.ts';

export type Settings = Partial<Readonly<Record<GateName, boolean>>>;

export const contextWith = (settings: Settings = {}): WriteContext => ({
  gates: gatesWith(settings),
  loopbackEndpoints: [],
});

type Words = 'type' | 'sessionAffinity' | 'externalTrafficPolicy' | 'internalTrafficPolicy' | 'ipFamilyPolicy';

/** A spec as its author writes it: words are any strings, since decoding takes any. */
export type Written = Omit<ServiceSpec, Words | 'ports' | 'ipFamilies'> & { readonly [Key in Words]?: string } & {
  readonly ports?: readonly (Omit<ServicePort, 'protocol'> & { readonly protocol?: string })[];
  readonly ipFamilies?: readonly string[];
};

/** A Service with one port, 80, unless `spec` says otherwise; with its defaults. */
export function written(spec: Written, metadata: ObjectMeta = {}): Service {
  const service = {
    metadata: { name: 'web', namespace: 'shop', ...metadata },
    spec: { ports: [{ port: 80 }], ...spec },
    status: { loadBalancer: {} },
  };
  // The words of a spec are what validation is about.
  return serviceKind.applyDefaults(service as Service);
}

/** What a client is told about a new Service. */
export function creating(service: Service, settings: Settings = {}): string[] {
  const context = contextWith(settings);
  const prepared = serviceKind.prepareForCreate(normalizeClusterIPs(service), context);
  return texts(serviceKind.validateCreate(prepared, context));
}

/** What is stored after an update, and what a client is told about it. */
export function updating(
  service: Service,
  old: Service,
  settings: Settings = {},
): { readonly stored: Service; readonly errors: string[] } {
  const context = contextWith(settings);
  const stored = serviceKind.prepareForUpdate(service, old, context);
  return { stored, errors: texts(serviceKind.validateUpdate(stored, old, context)) };
}

export const texts = (errors: readonly FieldError[]): string[] => errors.map(({ path, body }) => `${path}: ${body}`);
