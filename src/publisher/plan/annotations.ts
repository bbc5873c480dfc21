// Annotations of Services and exports: ours, and those of ExternalDNS under both of its prefixes.
import { familyOf } from '../../api/addresses.ts';
import { listOf, publicationAnnotationOf, publicationPrefixes } from '../../api/kinds/core/service/public-name.ts';
import type { Properties } from './record-set.ts';

/** The publication settings in the annotations of an object. */
export interface Publication {
  readonly hostnames: readonly string[];
  /** Names with the records of the cluster IP. */
  readonly internalHostnames: readonly string[];
  /** undefined: the default TTL. */
  readonly ttl: number | undefined;
  /** Replaces the targets of the object; empty: it does not. */
  readonly targets: readonly string[];
  readonly access: 'public' | 'private' | undefined;
  readonly endpointsType: 'NodeExternalIP' | 'HostIP' | undefined;
  /** Sentences about values that are invalid; these are ignored. */
  readonly errors: readonly string[];
  /** Provider-specific settings: `webhook/NAME` → value. */
  readonly properties: Properties;
}

/** Settings of ExternalDNS that change what is published in a way that is not supported. */
const unsupported = ['set-identifier', 'alias', 'record-type'] as const;

/** The publication that annotations request; undefined: none. */
export function publicationOf(annotations: Readonly<Record<string, string>> | undefined): Publication | undefined {
  if (annotations === undefined) return undefined;
  const read = (name: string): string | undefined => publicationAnnotationOf(annotations, name);
  const hostnames = listOf(read('hostname'));
  const internalHostnames = listOf(read('internal-hostname'));
  if (hostnames.length + internalHostnames.length === 0) return undefined;
  // As with ExternalDNS: another controller publishes the object.
  if ((read('controller') ?? 'dns-controller') !== 'dns-controller') return undefined;
  const stray = unsupported.filter((name) => read(name) !== undefined);
  const [ttl, access, endpointsType] = [read('ttl'), read('access'), read('endpoints-type')];
  const seconds = ttl === undefined ? undefined : secondsOf(ttl);
  const errors = [
    ...stray.map((name) => `the annotation ${name} is not supported: remove it`),
    ...(ttl !== undefined && seconds === undefined
      ? [`the annotation ttl is "${ttl}": expected seconds or a duration such as 5m, up to ${maxTtl} seconds`]
      : []),
    ...(access !== undefined && access !== 'public' && access !== 'private'
      ? [`the annotation access is "${access}": expected public or private`]
      : []),
  ];
  return {
    hostnames: stray.length > 0 ? [] : hostnames,
    internalHostnames: stray.length > 0 ? [] : internalHostnames,
    ttl: seconds === 0 ? undefined : seconds,
    targets: listOf(read('target')).map(withoutDot),
    access: access === 'public' || access === 'private' ? access : undefined,
    endpointsType: endpointsType === 'NodeExternalIP' || endpointsType === 'HostIP' ? endpointsType : undefined,
    errors,
    properties: webhookProperties(annotations),
  };
}

function webhookProperties(annotations: Readonly<Record<string, string>>): Properties {
  const found = publicationPrefixes
    .toReversed()
    .flatMap((prefix) =>
      Object.entries(annotations).flatMap(([key, value]) =>
        key.startsWith(`${prefix}webhook-`)
          ? [[`webhook/${key.slice(`${prefix}webhook-`.length)}`, value] as const]
          : [],
      ),
    );
  return Object.fromEntries(found);
}

const withoutDot = (name: string): string => (familyOf(name) === undefined ? name.replace(/\.$/, '') : name);

const maxTtl = 0x7fff_ffff;

const unitSeconds: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 };

/** Seconds, or a duration of Go: `1m30s`. 0 is the default; undefined: invalid. */
function secondsOf(text: string): number | undefined {
  let seconds = 0;
  if (/^\d{1,10}$/.test(text)) seconds = Number(text);
  else if (/^(?:\d+(?:\.\d+)?(?:ms|[smh]))+$/.test(text) && !/\d{10}/.test(text)) {
    for (const [, count = '', unit = ''] of text.matchAll(/([\d.]+)(ms|s|m|h)/gy))
      seconds += Number(count) * (unitSeconds[unit] ?? 0);
  } else return undefined;
  const whole = Math.floor(seconds);
  return whole <= maxTtl ? whole : undefined;
}
