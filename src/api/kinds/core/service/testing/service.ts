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

type Enums = 'type' | 'sessionAffinity' | 'externalTrafficPolicy' | 'internalTrafficPolicy' | 'ipFamilyPolicy';

/** A spec before validation: enumerations are arbitrary strings, as decoding accepts. */
export type Written = Omit<ServiceSpec, Enums | 'ports' | 'ipFamilies'> & { readonly [Key in Enums]?: string } & {
  readonly ports?: readonly (Omit<ServicePort, 'protocol'> & { readonly protocol?: string })[];
  readonly ipFamilies?: readonly string[];
};

/** A Service with defaults; it has port 80 unless `spec` sets ports. */
export function written(spec: Written, metadata: ObjectMeta = {}): Service {
  const service = {
    metadata: { name: 'web', namespace: 'shop', ...metadata },
    spec: { ports: [{ port: 80 }], ...spec },
    status: { loadBalancer: {} },
  };
  // Enumerations may have invalid values.
  return serviceKind.applyDefaults(service as Service);
}

/** Validation errors of a new Service. */
export function creating(service: Service, settings: Settings = {}): string[] {
  const context = contextWith(settings);
  const prepared = serviceKind.prepareForCreate(normalizeClusterIPs(service), context);
  return texts(serviceKind.validateCreate(prepared, context));
}

/** The result and the validation errors of an update. */
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
