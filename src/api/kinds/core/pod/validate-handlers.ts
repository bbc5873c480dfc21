// Validates probes and lifecycle hooks as Kubernetes does.
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { portNameErrors, portNumberErrors } from '../../../names.ts';
import type { Container } from './schema.ts';

type Probe = NonNullable<Container['livenessProbe']>;
type Lifecycle = NonNullable<Container['lifecycle']>;
type Handler = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'> &
  Pick<NonNullable<Lifecycle['preStop']>, 'sleep'>;

/** Validation errors of the probes and hooks of a container at `path`. */
export function handlersErrors(container: Container, path: string, gracePeriodSeconds: number): readonly FieldError[] {
  const { lifecycle = {}, livenessProbe, readinessProbe, startupProbe } = container;
  return [
    ...(['postStart', 'preStop'] as const).flatMap((hook) => {
      const handler = lifecycle[hook];
      return handler === undefined ? [] : handlerErrors(handler, `${path}.lifecycle.${hook}`, gracePeriodSeconds);
    }),
    ...probeErrors(livenessProbe, `${path}.livenessProbe`, oneSuccess),
    ...probeErrors(readinessProbe, `${path}.readinessProbe`, noGracePeriod),
    ...probeErrors(startupProbe, `${path}.startupProbe`, oneSuccess),
  ];
}

function probeErrors(
  probe: Probe | undefined,
  path: string,
  extra: (probe: Probe, path: string) => readonly FieldError[],
): readonly FieldError[] {
  if (probe === undefined) return [];
  const { terminationGracePeriodSeconds: grace } = probe;
  const errors: FieldError[] = [...handlerErrors(probe, path)];
  for (const field of probeNumbers) {
    const value = probe[field] ?? 0;
    if (value < 0) errors.push(invalidValue(`${path}.${field}`, value, 'must be greater than or equal to 0'));
  }
  if (grace !== undefined && grace <= 0)
    errors.push(invalidValue(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  return [...errors, ...extra(probe, path)];
}

const probeNumbers = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

const oneSuccess = ({ successThreshold = 1 }: Probe, path: string): readonly FieldError[] =>
  successThreshold === 1 ? [] : [invalidValue(`${path}.successThreshold`, successThreshold, 'must be 1')];

const noGracePeriod = ({ terminationGracePeriodSeconds: grace }: Probe, path: string): readonly FieldError[] =>
  grace === undefined
    ? []
    : [invalidValue(`${path}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes')];

/** Errors of the only handler; further ones are forbidden. */
function handlerErrors(handler: Handler, path: string, gracePeriodSeconds = 0): readonly FieldError[] {
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  const given = Object.entries({
    exec: exec && ((at: string) => execErrors(exec, at)),
    httpGet: httpGet && ((at: string) => httpErrors(httpGet, at)),
    tcpSocket: tcpSocket && ((at: string) => portErrors(tcpSocket.port, `${at}.port`)),
    grpc: grpc && ((at: string) => portErrors(grpc.port, `${at}.port`)),
    sleep: sleep && ((at: string) => sleepErrors(sleep.seconds, at, gracePeriodSeconds)),
  }).flatMap(([name, errors]) => (errors === undefined ? [] : [{ at: `${path}.${name}`, errors }]));
  if (given.length === 0) return [required(path, 'must specify a handler type')];
  return given.flatMap(({ at, errors }, index) =>
    index === 0 ? errors(at) : [forbiddenField(at, 'may not specify more than 1 handler type')],
  );
}

const execErrors = ({ command = [] }: NonNullable<Handler['exec']>, path: string): readonly FieldError[] =>
  command.length === 0 ? [required(`${path}.command`)] : [];

const schemes: readonly string[] = ['HTTP', 'HTTPS'];
const headerName = /^[-A-Za-z0-9]+$/;
const badHeader =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";

function httpErrors(action: NonNullable<Handler['httpGet']>, at: string): readonly FieldError[] {
  const { path = '', port, scheme = 'HTTP', httpHeaders = [] } = action;
  return [
    ...(path === '' ? [required(`${at}.path`)] : []),
    ...portErrors(port, `${at}.port`),
    ...(schemes.includes(scheme) ? [] : [notSupported(`${at}.scheme`, scheme, schemes)]),
    ...httpHeaders
      .filter(({ name }) => !headerName.test(name))
      .map(({ name }) => invalidValue(`${at}.httpHeaders`, name, badHeader)),
  ];
}

const portErrors = (port: number | string, path: string): readonly FieldError[] =>
  invalidAll(path, port, typeof port === 'number' ? portNumberErrors(port) : portNameErrors(port));

function sleepErrors(seconds: number, path: string, gracePeriodSeconds: number): readonly FieldError[] {
  if (seconds >= 0 && seconds <= gracePeriodSeconds) return [];
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriodSeconds})`;
  return [invalidValue(path, seconds, detail)];
}
