// One check of a container: HTTP, TCP, a command or gRPC.
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { joinHostPort } from '../../api/addresses.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Container } from '../../api/kinds/core/pod/schema.ts';
import { checkGrpc } from './grpc.ts';

export type Probe = NonNullable<Container['readinessProbe']>;
/** The checks of a probe and of lifecycle hooks. */
export type CheckAction = Pick<Probe, 'exec' | 'httpGet' | 'tcpSocket' | 'grpc'>;

/** The result: `unknown` means that the check could not be run, which counts neither way. */
export interface CheckResult {
  readonly outcome: 'success' | 'failure' | 'unknown';
  readonly output: string;
  /** A success that deserves an Event. */
  readonly warning?: string;
}

/** What a check needs about its container. */
export interface CheckTarget {
  readonly podIp: string;
  readonly ports: Container['ports'];
  /** Runs a command beside the container, and returns its exit code and output. Rejects if it cannot be started. */
  readonly exec: (
    command: readonly string[],
    signal: AbortSignal,
  ) => Promise<{ readonly code: number; readonly output: string }>;
}

/** What is read of a response or an output. */
export const maxOutputBytes = 10 << 10;
const maxRedirects = 10;
const userAgent = 'kube-probe/1.35';

/** Runs a check; it fails when the time is over. */
export async function check(action: CheckAction, target: CheckTarget, timeoutMs: number): Promise<CheckResult> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await run(action, target, signal);
  } catch (error) {
    if (error instanceof UnknownPort) return { outcome: 'unknown', output: error.message };
    const output = signal.aborted ? timeoutText(action, target, timeoutMs) : messageOf(error);
    return { outcome: 'failure', output };
  }
}

class UnknownPort extends Error {}

async function run(action: CheckAction, target: CheckTarget, signal: AbortSignal): Promise<CheckResult> {
  const { exec, httpGet, tcpSocket, grpc } = action;
  if (exec !== undefined) {
    const { code, output } = await target.exec(exec.command ?? [], signal);
    return { outcome: code === 0 ? 'success' : 'failure', output };
  }
  if (httpGet !== undefined) return get(urlOf(httpGet, target), httpGet, signal);
  if (tcpSocket !== undefined) return dial(hostOf(tcpSocket.host, target), portOf(tcpSocket.port, target), signal);
  if (grpc !== undefined) {
    const problem = await checkGrpc(hostOf('', target), grpc.port, grpc.service ?? '', signal);
    return problem === undefined
      ? { outcome: 'success', output: 'service healthy' }
      : { outcome: 'failure', output: problem };
  }
  return { outcome: 'unknown', output: 'missing probe handler' };
}

const hostOf = (host: string | undefined, { podIp }: CheckTarget): string =>
  host === undefined || host === '' ? podIp : host;

function portOf(port: string | number, { ports = [] }: CheckTarget): number {
  const number =
    typeof port === 'number' ? port : (ports.find(({ name }) => name === port)?.containerPort ?? Number(port));
  if (!Number.isInteger(number) || number < 1 || number > 65_535) throw new UnknownPort(`invalid port number: ${port}`);
  return number;
}

type HttpGet = NonNullable<CheckAction['httpGet']>;

function urlOf({ scheme = 'HTTP', host, port, path = '/' }: HttpGet, target: CheckTarget): URL {
  const authority = joinHostPort(hostOf(host, target), portOf(port, target));
  return new URL(`${scheme.toLowerCase()}://${authority}${path.startsWith('/') ? path : `/${path}`}`);
}

async function get(first: URL, { httpHeaders = [] }: HttpGet, signal: AbortSignal): Promise<CheckResult> {
  const headers: Record<string, string> = { 'User-Agent': userAgent, Accept: '*/*', Connection: 'close' };
  for (const { name, value } of httpHeaders) {
    const known = Object.keys(headers).find((each) => each.toLowerCase() === name.toLowerCase());
    if (known !== undefined) delete headers[known];
    // An empty Accept or User-Agent is sent by nobody: it removes the header.
    if (value !== '' || known === undefined) headers[name] = value;
  }
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const response = await respond(url, headers, signal);
    const { statusCode = 0 } = response;
    const { location } = response.headers;
    if (statusCode >= 300 && statusCode < 400 && location !== undefined) {
      response.destroy();
      const next = new URL(location, url);
      if (next.hostname !== first.hostname) {
        const warning = `Probe terminated redirects, Response body: ${statusCode}`;
        return { outcome: 'success', output: warning, warning };
      }
      if (redirects === maxRedirects) return { outcome: 'failure', output: `stopped after ${maxRedirects} redirects` };
      url = next;
      continue;
    }
    const body = await bodyOf(response);
    return statusCode >= 200 && statusCode < 400
      ? { outcome: 'success', output: body }
      : { outcome: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
  }
}

function respond(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const options = { headers, signal, agent: false };
    const sent = isTls
      ? httpsRequest(url, { ...options, rejectUnauthorized: false }, resolve)
      : httpRequest(url, options, resolve);
    sent.on('error', (error) => reject(new Error(`Get "${url.href}": ${messageOf(error)}`, { cause: error })));
    sent.end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxOutputBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxOutputBytes).toString('utf8');
}

function dial(host: string, port: number, signal: AbortSignal): Promise<CheckResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal });
    socket.once('connect', () => {
      socket.destroy();
      resolve({ outcome: 'success', output: '' });
    });
    socket.once('error', (error) =>
      reject(new Error(`dial tcp ${joinHostPort(host, port)}: ${messageOf(error)}`, { cause: error })),
    );
  });
}

function timeoutText({ exec, httpGet, tcpSocket }: CheckAction, target: CheckTarget, timeoutMs: number): string {
  const seconds = `${timeoutMs / 1000}s`;
  if (exec !== undefined)
    return `command timed out: ${JSON.stringify((exec.command ?? []).join(' '))} timed out after ${seconds}`;
  if (httpGet !== undefined)
    return `Get "${urlOf(httpGet, target).href}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
  if (tcpSocket !== undefined)
    return `dial tcp ${joinHostPort(hostOf(tcpSocket.host, target), portOf(tcpSocket.port, target))}: i/o timeout`;
  return `timeout: health rpc did not complete within ${seconds}`;
}
