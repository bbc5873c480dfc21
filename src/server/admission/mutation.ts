import type { ApiObject } from '../../api/metadata.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';
import { completed } from './admission.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { objectChanger, withoutSystemFields, withSystemFields } from './change-object.ts';
import type { Mutated, MutationRound } from './mutation-round.ts';
import { Reinvocation } from './mutation-round.ts';
import { attributesOf, outputOf } from './review.ts';

/** MutatingAdmissionPolicy or MutatingAdmissionWebhook. */
type MutatingPlugin = (attributes: AdmissionAttributes, round: MutationRound) => Promise<Mutated>;

/**
 * The object after mutating policies, then mutating webhooks. As in Kubernetes, all plugins run a second time if one of
 * these two changed the object. Returns undefined if there is no policy and no webhook.
 */
export async function mutated(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { next: given, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): Promise<ApiObject | undefined> {
  const { webhooks, mutatingPolicies, plugins } = context;
  const active: MutatingPlugin[] = [];
  if (!mutatingPolicies.isIdle) active.push((attributes, round) => mutatingPolicies.mutate(attributes, round));
  if (!webhooks.mutatesNothing && plugins.has('MutatingAdmissionWebhook')) {
    active.push((attributes, round) => webhooks.mutate(attributes, round));
  }
  if (active.length === 0) return undefined;
  const operation = old === undefined ? 'CREATE' : 'UPDATE';
  const attributes = attributesOf(context, resource, request, { operation, object: given, old });
  if (attributes === undefined) return undefined;
  const change = objectChanger(context, attributes, request.work);
  const output = outputOf(request);
  const states = active.map((run) => ({ run, reinvocation: new Reinvocation(), output: given }));

  let object = operation === 'CREATE' ? withoutSystemFields(given) : given;
  let isChanged = false;
  for (const round of [0, 1] as const) {
    if (round === 1) {
      if (!isChanged) break;
      if (request.subresource === '') {
        const settled = object;
        object = await request.work.run(() => completed(context, resource, { next: settled, old }));
      }
    }
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
