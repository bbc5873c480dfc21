import { invalid, notFound } from '../../../api/errors.ts';
import { invalidValue } from '../../../api/field-errors.ts';
import type { TokenRequest } from '../../../api/kinds/authentication/tokenrequest/kind.ts';
import { tokenRequestKind } from '../../../api/kinds/authentication/tokenrequest/kind.ts';
import { serviceAccountKind } from '../../../api/kinds/core/serviceaccount/kind.ts';
import { timestamp } from '../../../api/timestamp.ts';
import type { ServerContext } from '../../context.ts';
import { restrictToken } from '../../admission/node-restriction.ts';
import { negotiate } from '../../negotiate/accept.ts';
import type { ApiCall, Reply } from '../../reply.ts';
import { jsonReply } from '../../reply.ts';
import type { ResourceRequest } from '../../request.ts';
import { readObject } from '../../verbs/body.ts';
import { namespaceMismatch } from '../../verbs/create.ts';
import { parseWriteOptions } from '../../verbs/write-options.ts';
import { bindingClaims, lookupIn } from './bound-objects.ts';
import { longestTokenSeconds } from './token-keys.ts';

const { group, version, kind } = tokenRequestKind;

/** Handles POST `serviceaccounts/NAME/token`: issues a token. */
export async function requestToken(
  context: ServerContext,
  info: ResourceRequest,
  { request, warnings }: ApiCall,
): Promise<Reply> {
  const { namespace, name } = info;
  negotiate(request.header('accept'), { transformations: [], protobuf: true });
  const { fieldValidation } = parseWriteOptions(info.query, 'CreateOptions');
  const body = await readObject(context, request, tokenRequestKind, fieldValidation);
  for (const warning of body.warnings) warnings.push(warning);
  const tokenRequest = tokenRequestKind.applyDefaults(body.object as TokenRequest); // decoded by that kind's schema
  checkIdentity(tokenRequest, info);
  const lookup = lookupIn(context.watchCache);
  const account = lookup(serviceAccountKind, namespace, name);
  if (account === undefined) throw notFound({ group: '', resource: serviceAccountKind.plural, name });
  const errors = tokenRequestKind.validateCreate(tokenRequest, context.write);
  if (errors.length > 0) throw invalid({ group, resource: kind, name: '' }, errors);

  restrictToken(context, request.user, { namespace, name, request: tokenRequest });
  const { spec } = tokenRequest;
  const uid = account.metadata.uid ?? '';
  const bound = bindingClaims(spec.boundObjectRef, { namespace, name }, lookup);
  const seconds = cappedLifetime(spec.expirationSeconds ?? 0, warnings);
  const { accountTokens } = context.identity;
  const audiences = spec.audiences === null || spec.audiences.length === 0 ? accountTokens.audiences : spec.audiences;
  const now = context.clock();
  const token = await accountTokens.sign({
    audiences,
    seconds,
    claims: { namespace, serviceaccount: { name, uid }, ...bound },
  });
  const answer = {
    kind,
    apiVersion: `${group}/${version}`,
    metadata: { ...tokenRequest.metadata, name, namespace, uid, creationTimestamp: timestamp(now) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp: timestamp(now + seconds * 1000) },
  };
  return jsonReply(201, `${JSON.stringify(answer)}\n`);
}

/** Rejects a name or namespace that differs from the URL; both may be absent. */
function checkIdentity({ metadata }: TokenRequest, { namespace, name }: ResourceRequest): void {
  if ((metadata.namespace ?? '') !== '' && metadata.namespace !== namespace) throw namespaceMismatch();
  if ((metadata.name ?? '') === '' || metadata.name === name) return;
  throw invalid({ group, resource: kind, name }, [
    invalidValue('metadata.name', metadata.name, 'must match the service account name if specified'),
  ]);
}

function cappedLifetime(seconds: number, warnings: string[]): number {
  if (seconds <= longestTokenSeconds) return seconds;
  warnings.push(`requested expiration of ${seconds} seconds shortened to ${longestTokenSeconds} seconds`);
  return longestTokenSeconds;
}
