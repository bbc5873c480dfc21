import type { ApiRequest, Reply, User } from '../reply.ts';
import type { RequestInfo } from '../request.ts';
import { isSensitive } from './sensitive.ts';

/** How much of a request is kept: who did what, or also the objects that were sent. */
export type AuditLevel = 'Metadata' | 'Request';
/** When an event is written: a watch has two, when it begins and when it ends. */
export type AuditStage = 'ResponseStarted' | 'ResponseComplete';

/** What is known of a request when an event is written. */
export interface Audited {
  readonly id: string;
  readonly level: AuditLevel;
  readonly stage: AuditStage;
  /** As it was sent: the user in it is the one whose credentials it carries. */
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  /** Whom the user was taken for, if they were allowed to. */
  readonly impersonated: User | undefined;
  readonly reply: Pick<Reply, 'status'> & { readonly body?: unknown };
  /** The object of the body, as `requestObject` keeps it. */
  readonly object: RequestObject;
  /** Milliseconds since the epoch. */
  readonly received: number;
  readonly now: number;
}

/** What the body was: an object, one too large to keep, or nothing to keep. */
export type RequestObject = { readonly kept: unknown } | 'too-large' | undefined;

/** An event of `audit.k8s.io/v1`, as Kubernetes writes it. */
export function auditEvent(audited: Audited): object {
  const { request, info, level, object, impersonated } = audited;
  const agent = request.header('user-agent');
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level,
    auditID: audited.id,
    stage: audited.stage,
    requestURI: request.url,
    verb: info.verb,
    user: userOf(request.user),
    ...(impersonated === undefined ? {} : { impersonatedUser: userOf(impersonated) }),
    ...(request.remote === undefined ? {} : { sourceIPs: [plainAddress(request.remote)] }),
    ...(agent === undefined ? {} : { userAgent: agent.slice(0, maxAgentLength) }),
    ...(info.isResource ? { objectRef: referenceOf(info) } : {}),
    responseStatus: responseStatus(audited),
    ...(typeof object === 'object' ? { requestObject: object.kept } : {}),
    requestReceivedTimestamp: microTime(audited.received),
    stageTimestamp: microTime(audited.now),
    ...(object === 'too-large' ? { annotations: { 'audit.k8s.io/truncated': 'true' } } : {}),
  };
}

/** Longer ones say nothing more, and fill the disk. */
const maxAgentLength = 1024;

const userOf = ({ name, uid, groups, extra }: User): object => ({
  username: name,
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(extra === undefined ? {} : { extra }),
});

function referenceOf(info: RequestInfo & { readonly isResource: true }): object {
  const { resource, namespace, name, group, version, subresource } = info;
  return {
    resource,
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { apiGroup: group }),
    apiVersion: version,
    ...(subresource === '' ? {} : { subresource }),
  };
}

/** A failure says why, unless the reason could repeat what must not be kept. */
function responseStatus({ reply, info }: Audited): object {
  const code = reply.status;
  if (code < 400 || typeof reply.body !== 'string' || isSensitive(info)) return { metadata: {}, code };
  const { status, message, reason } = parsedStatus(reply.body);
  return {
    metadata: {},
    ...(status === undefined ? {} : { status }),
    ...(message === undefined ? {} : { message }),
    ...(reason === undefined ? {} : { reason }),
    code,
  };
}

interface PartOfStatus {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly reason?: unknown;
}

function parsedStatus(body: string): PartOfStatus {
  if (!body.startsWith('{')) return { status: 'Failure', message: body.trim() };
  // Our own words, or JSON of ours: a Status.
  return JSON.parse(body) as PartOfStatus;
}

/** An IPv4 address in its own form, also where the socket is one of IPv6. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '');

/** Kubernetes' MicroTime; clocks here have milliseconds. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
