// Fields of a Pod and resources of its containers, for environment variables and files.
import type { Container, Pod } from '../../api/kinds/core/pod/schema.ts';
import { parseQuantity } from '../../api/quantity.ts';

/** What is known about a Pod besides its object. */
export interface PodFacts {
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
  readonly nodeName: string;
  /** What containers may use without limits of their own. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/** The value of a field by its path, such as `metadata.labels['app']`; undefined: there is no such field. */
export function podField(path: string, { metadata, spec }: Pod, facts: PodFacts): string | undefined {
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['([^']*)'\]$/.exec(path) ?? [];
  if (map === 'labels') return metadata.labels?.[key] ?? '';
  if (map === 'annotations') return metadata.annotations?.[key] ?? '';
  const values: Readonly<Record<string, string>> = {
    'metadata.name': metadata.name ?? '',
    'metadata.namespace': metadata.namespace ?? '',
    'metadata.uid': metadata.uid ?? '',
    'metadata.labels': mapText(metadata.labels),
    'metadata.annotations': mapText(metadata.annotations),
    'spec.nodeName': facts.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName ?? '',
    'status.hostIP': facts.hostIps[0] ?? '',
    'status.hostIPs': facts.hostIps.join(','),
    'status.podIP': facts.podIps[0] ?? '',
    'status.podIPs': facts.podIps.join(','),
  };
  return values[path];
}

/** Sorted lines `key="value"`, as in files of downwardAPI volumes. */
const mapText = (map: Readonly<Record<string, string>> = {}): string =>
  Object.entries(map)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');

/** The value of a resource such as `limits.cpu`, divided and rounded up; undefined: there is no such resource. */
export function resourceField(
  resource: string,
  {
    divisor = '1',
    container,
    facts,
  }: { readonly divisor?: string; readonly container: Container; readonly facts: PodFacts },
): string | undefined {
  const [section = '', name = ''] = splitOnce(resource);
  if (section !== 'limits' && section !== 'requests') return undefined;
  const { limits = {}, requests = {} } = container.resources ?? {};
  const limit = limits[name] ?? facts.allocatable[name] ?? '0';
  const quantity = section === 'limits' ? limit : (requests[name] ?? limits[name] ?? '0');
  const unit = parseQuantity(divisor === '' || divisor === '0' ? '1' : divisor).nano;
  const { nano } = parseQuantity(String(quantity));
  return String((nano + unit - 1n) / unit);
}

function splitOnce(text: string): readonly string[] {
  const dot = text.indexOf('.');
  return [text.slice(0, dot), text.slice(dot + 1)];
}
