import type { Service } from '../../api/kinds/core/service/schema.ts';

/** The value of an annotation; '' if it is missing. */
export const annotation = ({ metadata }: Service, name: string): string => metadata.annotations?.[name] ?? '';

/** Whether an annotation has the value `true`. */
export const isTrue = (service: Service, name: string): boolean => annotation(service, name).toLowerCase() === 'true';

/** The items of a comma-separated annotation. */
export const listed = (service: Service, name: string): readonly string[] =>
  annotation(service, name)
    .split(',')
    .flatMap((item) => item.trim() || []);

/** The ports in an annotation, by number or name; `*` is all. */
export function namedPorts(service: Service, name: string): readonly number[] {
  const { ports = [] } = service.spec;
  const words = listed(service, name);
  if (words.includes('*')) return ports.map(({ port }) => port);
  return words.flatMap(
    (word) => (/^\d+$/.test(word) ? Number(word) : ports.find((port) => port.name === word)?.port) ?? [],
  );
}
