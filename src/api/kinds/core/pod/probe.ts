// Probes and lifecycle hooks of a container.
import {
  always,
  int32,
  int64,
  intOrString,
  list,
  oneOf,
  optional,
  pointer,
  string,
  struct,
} from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const execAction = struct(`${core}.ExecAction`, 'Runs a command in the container.', {
  command: optional(1, list(string), 'The command and its arguments; no shell is involved.'),
});

const httpHeader = struct(`${core}.HTTPHeader`, 'One header of a request.', {
  name: always(1, string, 'Name of the header.', { required: true }),
  value: always(2, string, 'Value of the header.', { required: true }),
});

const httpGetAction = struct(`${core}.HTTPGetAction`, 'Makes an HTTP GET request.', {
  path: optional(1, string, 'Path of the request.'),
  port: always(2, intOrString, 'Number or name of the port.', { required: true }),
  host: optional(3, string, 'Host to connect to; default: the Pod’s address.'),
  scheme: optional(4, oneOf('HTTP', 'HTTPS'), 'HTTP or HTTPS.'),
  httpHeaders: optional(5, list(httpHeader), 'Headers to send.'),
});

const tcpSocketAction = struct(`${core}.TCPSocketAction`, 'Opens a TCP connection.', {
  port: always(1, intOrString, 'Number or name of the port.', { required: true }),
  host: optional(2, string, 'Host to connect to; default: the Pod’s address.'),
});

const grpcAction = struct(`${core}.GRPCAction`, 'Calls the gRPC health service.', {
  port: always(1, int32, 'Number of the port.', { required: true }),
  service: pointer(2, string, 'Name of the service to check.', { default: '' }),
});

const sleepAction = struct(`${core}.SleepAction`, 'Waits for some seconds.', {
  seconds: always(1, int64, 'How long to wait.', { required: true }),
});

export const probe = struct(`${core}.Probe`, 'A periodic check of a container.', {
  exec: pointer(1, execAction, 'A command that succeeds when it exits with 0.', { inline: 1 }),
  httpGet: pointer(2, httpGetAction, 'A request that succeeds with a status from 200 to 399.', { inline: 1 }),
  tcpSocket: pointer(3, tcpSocketAction, 'A connection that can be opened.', { inline: 1 }),
  grpc: pointer(4, grpcAction, 'A gRPC health check.', { inline: 1 }),
  initialDelaySeconds: optional(2, int32, 'Wait before the first check.'),
  timeoutSeconds: optional(3, int32, 'How long one check may take.'),
  periodSeconds: optional(4, int32, 'Time between checks.'),
  successThreshold: optional(5, int32, 'Successes in a row that count as success after a failure.'),
  failureThreshold: optional(6, int32, 'Failures in a row that count as failure after a success.'),
  terminationGracePeriodSeconds: pointer(
    7,
    int64,
    'Grace period after this probe has failed, instead of that of the Pod.',
  ),
});

const lifecycleHandler = struct(`${core}.LifecycleHandler`, 'The action of a lifecycle hook.', {
  exec: pointer(1, execAction, 'Runs a command.'),
  httpGet: pointer(2, httpGetAction, 'Makes a request.'),
  tcpSocket: pointer(3, tcpSocketAction, 'Deprecated and ignored.'),
  sleep: pointer(4, sleepAction, 'Waits.'),
});

export const lifecycle = struct(`${core}.Lifecycle`, 'Hooks that run when a container starts and stops.', {
  postStart: pointer(1, lifecycleHandler, 'Runs right after the container has started.'),
  preStop: pointer(2, lifecycleHandler, 'Runs before the container gets the stop signal.'),
  stopSignal: pointer(3, string, 'The stop signal.'),
});
