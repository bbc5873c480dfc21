import type { ApiObject } from '../../api/metadata.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';
import { completed } from './admission.ts';
import type { AdmissionAttributes, ReviewOutput } from './attributes.ts';
import { objectChanger, withoutSystemFields, withSystemFields } from './change-object.ts';
import type { Mutated, MutationRound } from './mutation-round.ts';
import { Reinvocation } from './mutation-round.ts';
import { attributesOf, outputOf } from './review.ts';

/** MutatingAdmissionPolicy or MutatingAdmissionWebhook. */
type MutatingPlugin = (attributes: AdmissionAttributes, round: MutationRound) => Promise<Mutated>;

/** Whether there is neither a mutating policy nor a mutating webhook: a cheap check for every write. */
export const mutatesNothing = ({ webhooks, mutatingPolicies, plugins }: ServerContext): boolean =>
  mutatingPolicies.isIdle && (webhooks.mutatesNothing || !plugins.has('MutatingAdmissionWebhook'));

/** The object of a write after mutating policies and webhooks; undefined if there are none. */
export async function mutated(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { next: object, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): Promise<ApiObject | undefined> {
  if (mutatesNothing(context)) return undefined;
  const operation = old === undefined ? 'CREATE' : 'UPDATE';
  const attributes = attributesOf(context, resource, request, { operation, object, old });
  if (attributes === undefined) return undefined;
  const { work } = request;
  return mutateObject(context, attributes, {
    work,
    output: outputOf(request),
    ...(request.subresource === ''
      ? { complete: (next) => work.run(() => completed(context, resource, { next, old })) }
      : {}),
  });
}

/**
 * The object after mutating policies, then mutating webhooks. As in Kubernetes, all plugins run a second time if one of
 * these two changed the object; `complete` runs the others. Returns undefined if there is no policy and no webhook.
 */
export async function mutateObject(
  context: ServerContext,
  attributes: AdmissionAttributes,
  {
    work,
    output,
    complete,
  }: {
    readonly work: WriteRequest['work'];
    readonly output: ReviewOutput;
    readonly complete?: (object: ApiObject) => ApiObject | Promise<ApiObject>;
  },
): Promise<ApiObject | undefined> {
  const { webhooks, mutatingPolicies, plugins } = context;
  const { object: given, operation } = attributes;
  if (given === undefined || mutatesNothing(context)) return undefined;
  const active: MutatingPlugin[] = [];
  if (!mutatingPolicies.isIdle) active.push((current, round) => mutatingPolicies.mutate(current, round));
  if (!webhooks.mutatesNothing && plugins.has('MutatingAdmissionWebhook')) {
    active.push((current, round) => webhooks.mutate(current, round));
  }
  const change = objectChanger(context, attributes, work);
  const states = active.map((run) => ({ run, reinvocation: new Reinvocation(), output: given }));

  let object = operation === 'CREATE' ? withoutSystemFields(given) : given;
  let isChanged = false;
  for (const round of [0, 1] as const) {
    if (round === 1 && !isChanged) break;
    if (round === 1 && complete !== undefined) object = await complete(object);
    for (const state of states) {
      const { run, reinvocation } = state;
      if (round === 1 && !equalJson(state.output, object)) reinvocation.requireRepetition();
      const result = await run({ ...attributes, object }, { round, output, change, reinvocation });
      isChanged ||= result.isChanged;
      object = result.object ?? object;
      state.output = object;
    }
  }
  return withSystemFields(object, given);
}
