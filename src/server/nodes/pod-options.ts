// The options of streams of Pods, as clients send them and as nodes expect them. Pure.

import { badRequest, invalid } from '../../api/errors.ts';
import type { FieldError } from '../../api/field-errors.ts';
import { forbiddenField, invalidValue } from '../../api/field-errors.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { isTrue } from '../request.ts';

/** The container of a request: the requested one, or the only one of the Pod. */
export function containerOf({ metadata, spec }: Pod, requested: string): string {
  const { name } = metadata;
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])].map(
    (container) => container.name,
  );
  if (requested !== '') {
    if (!all.includes(requested)) throw badRequest(`container ${requested} is not valid for pod ${name}`);
    return requested;
  }
  const [first, ...others] = spec.containers ?? [];
  if (first !== undefined && others.length === 0) return first.name;
  const choice = first === undefined ? '' : `, choose one of: [${all.join(' ')}]`;
  throw badRequest(`a container name must be specified for pod ${name}${choice}`);
}

/** The streams that a client wants of a command. */
export interface CommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export const commandStreams = (query: URLSearchParams): CommandStreams => ({
  stdin: isTrue(query.get('stdin')),
  stdout: isTrue(query.get('stdout')),
  stderr: isTrue(query.get('stderr')),
  tty: isTrue(query.get('tty')),
});

/** The parameters of a kubelet for `exec` and `attach`. */
export function commandParameters(query: URLSearchParams): URLSearchParams {
  const { stdin, stdout, stderr, tty } = commandStreams(query);
  const parameters = new URLSearchParams();
  for (const [name, isSet] of Object.entries({ input: stdin, output: stdout, error: stderr, tty })) {
    if (isSet) parameters.append(name, '1');
  }
  for (const word of query.getAll('command')) parameters.append('command', word);
  return parameters;
}

/** The parameters of a kubelet for `portforward`: the ports of the older WebSocket form. */
export function portParameters(query: URLSearchParams): URLSearchParams {
  const ports = query.getAll('ports').flatMap((list) => list.split(','));
  return ports.length === 0 ? new URLSearchParams() : new URLSearchParams({ port: ports.join(',') });
}

const numbers = [
  { name: 'tailLines', least: 0, detail: 'must be greater than or equal to 0' },
  { name: 'limitBytes', least: 1, detail: 'must be greater than 0' },
  { name: 'sinceSeconds', least: 1, detail: 'must be greater than 0' },
] as const;

/** The parameters of a kubelet for `log`; throws Kubernetes' errors for options that are not valid. */
export function logParameters(pod: string, query: URLSearchParams): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of ['follow', 'previous', 'timestamps']) if (isTrue(query.get(name))) parameters.set(name, 'true');
  const errors: FieldError[] = [];
  const both = query.get('sinceSeconds') !== null && query.get('sinceTime') !== null;
  for (const { name, least, detail } of numbers) {
    const text = query.get(name);
    if (text === null || text === '') continue;
    const value = parseInteger(text);
    if (name === 'sinceSeconds' && both) continue;
    if (value < least) errors.push(invalidValue(name, value, detail));
    else parameters.set(name, String(value));
  }
  const sinceTime = query.get('sinceTime');
  if (sinceTime !== null && sinceTime !== '') {
    if (Number.isNaN(Date.parse(sinceTime))) {
      const shown = JSON.stringify(sinceTime);
      throw badRequest(`parsing time ${shown} as "2006-01-02T15:04:05Z07:00": cannot parse ${shown} as "2006"`);
    }
    parameters.set('sinceTime', sinceTime);
  }
  if (both) errors.push(forbiddenField('', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  if (query.get('stream') !== null) errors.push(forbiddenField('stream', 'may not be specified'));
  if (errors.length > 0) throw invalid({ group: '', resource: 'PodLogOptions', name: pod }, errors);
  return parameters;
}

function parseInteger(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  const value = Number(text);
  if (!Number.isSafeInteger(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: value out of range`);
  }
  return value;
}
