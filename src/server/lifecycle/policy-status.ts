import { isStatusError } from '../../api/errors.ts';
import { validatingAdmissionPolicyKind } from '../../api/kinds/admissionregistration/validatingadmissionpolicy/kind.ts';
import type { ValidatingAdmissionPolicy } from '../../api/kinds/admissionregistration/validatingadmissionpolicy/schema.ts';
import { typeWarnings } from '../admission/policies/type-check.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import { updateObject } from '../verbs/update-object.ts';
import { serverRequest } from '../verbs/write-request.ts';
import { ReconcileQueue } from './reconcile-queue.ts';

/** Writes the status of ValidatingAdmissionPolicies after each change, as kube-controller-manager does. */
export class PolicyStatus {
  readonly #context: ServerContext;
  readonly #queue: ReconcileQueue;
  readonly #watch: Disposable;

  constructor(context: ServerContext) {
    this.#context = context;
    const log = context.log.child({ loop: 'policies' });
    this.#queue = new ReconcileQueue({
      reconcile: (name) => this.#reconcile(name),
      onError: (policy, error) => log.warn({ policy, err: error }, 'failed to check a policy, retrying'),
    });
    const cache = context.watchCache.of(validatingAdmissionPolicyKind);
    const enqueue = ({ key }: Pick<Item, 'key'>): void => this.#queue.enqueue(key.slice(cache.prefix.length));
    this.#watch = cache.watchers.watch(enqueue);
    for (const item of cache.range(cache.prefix)) enqueue(item);
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#watch[Symbol.dispose]();
    await this.#queue.close();
  }

  async #reconcile(name: string): Promise<boolean> {
    const cache = this.#context.watchCache.of(validatingAdmissionPolicyKind);
    const item = cache.get(cache.key('', name));
    if (item === undefined) return true;
    // A rule may name a custom resource whose definition was created just before.
    await this.#context.resources.settled();
    const checked = (object: ValidatingAdmissionPolicy): ValidatingAdmissionPolicy => {
      const { metadata, spec = {}, status = {} } = object;
      const observedGeneration = metadata.generation ?? 0;
      if (observedGeneration <= (status.observedGeneration ?? 0)) return object;
      const warnings = typeWarnings(spec, this.#context.resources);
      const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
      return { ...object, status: { ...status, observedGeneration, typeChecking } };
    };
    const { object } = item;
    if (checked(object) === object) return true;
    const request = serverRequest({ namespace: '', name, subresource: 'status' });
    try {
      await updateObject(this.#context, { kind: validatingAdmissionPolicyKind, cache }, request, { revise: checked });
    } catch (error) {
      if (!isStatusError(error) || error.status.code !== 404) throw error;
    }
    return true;
  }
}
