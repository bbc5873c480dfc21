import { failure, forbidden } from '../../api/errors.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { User } from '../../api/user.ts';
import type { RequestInfo } from '../request.ts';
import type { Attributes } from './rbac/attributes.ts';
import { attributesOf } from './rbac/attributes.ts';
import { describeGrant } from './rbac/grants.ts';
import { nodeNameOf } from './node/identity.ts';
import { NodeAuthorizer } from './node/node-authorizer.ts';
import { Policy } from './rbac/policy.ts';

/** Members may do everything without any role, so that administrators cannot lock themselves out. */
export const mastersGroup = 'system:masters';

/** Probes have no credentials; these paths reveal nothing but health. */
const alwaysAllowedPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

/** A decision with its reason, which may be empty. */
export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

/**
 * Authorizes requests: members of `system:masters` may do everything, nodes what their Pods require, and all users
 * what RBAC allows.
 */
export class Authorizer {
  readonly policy: Policy;
  readonly #nodes: NodeAuthorizer;

  constructor(watchCache: WatchCache) {
    this.policy = new Policy(watchCache);
    this.#nodes = new NodeAuthorizer(watchCache);
  }

  isAllowed(user: User, attributes: Attributes): boolean {
    if (isMaster(user) || isAlwaysAllowed(attributes)) return true;
    const node = nodeNameOf(user);
    if (node !== undefined && this.#nodes.denial(node, attributes) === undefined) return true;
    return this.policy.grantFor(user, attributes) !== undefined;
  }

  /** Decides with a reason, which is slower. */
  decide(user: User, attributes: Attributes): Decision {
    if (isMaster(user) || isAlwaysAllowed(attributes)) return { allowed: true, reason: '' };
    const node = nodeNameOf(user);
    const denial = node === undefined ? '' : this.#nodes.denial(node, attributes);
    if (denial === undefined) return { allowed: true, reason: '' };
    const grant = this.policy.grantFor(user, attributes);
    if (grant !== undefined) return { allowed: true, reason: `RBAC: allowed by ${describeGrant(grant)}` };
    const { missing } = this.policy.rulesFor(user, attributes.isResource ? attributes.namespace : '');
    const reasons = [denial, missing.length === 0 ? '' : `RBAC: ${aggregate(missing)}`];
    return { allowed: false, reason: reasons.filter((reason) => reason !== '').join('\n') };
  }

  /** Throws Kubernetes' 403 unless the request is allowed. */
  require(user: User, info: RequestInfo): void {
    if (isMaster(user)) return;
    this.requireAttributes(user, attributesOf(info));
  }

  /** Throws Kubernetes' 403 unless the user has a further permission that a request needs. */
  requireAttributes(user: User, attributes: Attributes): void {
    if (this.isAllowed(user, attributes)) return;
    throw refusal(user, attributes, this.decide(user, attributes).reason);
  }
}

export const isMaster = ({ groups }: User): boolean => groups.includes(mastersGroup);

const isAlwaysAllowed = (attributes: Attributes): boolean =>
  !attributes.isResource && alwaysAllowedPaths.has(attributes.path);

/** Prints several errors as Kubernetes does. */
const aggregate = (texts: readonly string[]): string =>
  texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;

function refusal(user: User, attributes: Attributes, reason: string): Error {
  const why = `${escaped(refusedText(user, attributes))}${reason === '' ? '' : `: ${reason}`}`;
  if (!attributes.isResource) {
    return failure({ code: 403, reason: 'Forbidden', message: `forbidden: ${why}`, details: {} });
  }
  const { group, resource, name } = attributes;
  return forbidden({ group, resource, ...(name === '' ? {} : { name }) }, why);
}

function refusedText({ name: user }: User, attributes: Attributes): string {
  // Methods without a verb are printed without one.
  const verb = attributes.verb === 'unsupported' ? '' : attributes.verb;
  const who = `User ${quote(user)} cannot ${verb}`;
  if (!attributes.isResource) return `${who} path ${quote(attributes.path)}`;
  const { group, resource, subresource, namespace } = attributes;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(namespace)}`;
  return `${who} resource ${quote(what)} in API group ${quote(group)} ${where}`;
}

const quote = (text: string): string => JSON.stringify(text);

/** Escapes text of the client, which must not come back as markup. */
const escaped = (text: string): string =>
  text.replace(/[&<>]/g, (character) => (character === '&' ? '&amp;' : character === '<' ? '&lt;' : '&gt;'));
