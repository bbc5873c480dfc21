import type { Logger } from 'pino';

import { ignoreNotFound } from '../../../api/errors.ts';
import { requirementsOf } from '../../../api/selectors/label-selector.ts';
import type { ClusterRole } from '../../../api/kinds/rbac/clusterrole/kind.ts';
import { clusterRoleKind } from '../../../api/kinds/rbac/clusterrole/kind.ts';
import type { PolicyRule } from '../../../api/kinds/rbac/policy-rule.ts';
import { matchesLabels } from '../../../api/selectors/labels.ts';
import { setTimeout } from '../../../machine/timers.ts';
import type { ServerContext } from '../../context.ts';
import { equalJson } from '../../../api/schema/equal-json.ts';
import type { Resource } from '../../resource.ts';
import { updateObject } from '../../verbs/update-object.ts';
import { serverRequest } from '../../verbs/write-request.ts';
import { getOrCompute } from '../../../api/maps.ts';
import { byName } from '../../../api/order.ts';

const manager = 'clusterrole-aggregation-controller';
const retryMs = 1000;

/** The rules that a role aggregates, in the order of its selectors and then of role names, without duplicates. */
export function aggregatedRules(role: ClusterRole, others: Iterable<ClusterRole>): readonly PolicyRule[] {
  const sorted = [...others].toSorted(byName);
  /** JSON of the rule → rule */
  const rules = new Map<string, PolicyRule>();
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const requirements = requirementsOf(selector);
    if (requirements === undefined) continue; // rejected by validation
    for (const { metadata, rules: given } of sorted) {
      if (metadata.name === role.metadata.name || !matchesLabels(requirements, metadata.labels)) continue;
      for (const rule of given ?? []) getOrCompute(rules, JSON.stringify(rule), () => rule);
    }
  }
  return [...rules.values()];
}

/** Updates the rules of every ClusterRole with an aggregationRule. */
export class RoleAggregation {
  readonly #context: ServerContext;
  readonly #resource: Resource;
  readonly #log: Logger;
  #watch: Disposable | undefined;
  /** Parsed once: the cache keeps bytes and would parse them on every read. */
  readonly #roles = new Map<string, ClusterRole>();
  #working: Promise<void> | undefined;
  #isStale = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;

  constructor(context: ServerContext) {
    const cache = context.watchCache.of(clusterRoleKind);
    this.#context = context;
    this.#resource = { kind: clusterRoleKind, cache };
    this.#log = context.log.child({ loop: 'aggregation' });
  }

  /** Watches the roles; resolves when existing ones are aggregated. */
  async start(): Promise<void> {
    const { cache } = this.#resource;
    this.#watch = cache.watchers.watch(({ key, item }) => {
      this.#update(key, item?.object as ClusterRole | undefined);
      void this.settled(); // never rejects
    });
    for (const { key, object } of cache.range(cache.prefix)) this.#update(key, object as ClusterRole);
    await this.settled();
  }

  /** Resolves when every role is up to date. */
  settled(): Promise<void> {
    this.#isStale = true;
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
    return this.#working;
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#watch?.[Symbol.dispose]();
    await this.#working;
  }

  #update(key: string, role: ClusterRole | undefined): void {
    if (role === undefined) this.#roles.delete(key);
    else this.#roles.set(key, role);
  }

  /** Repeats until nothing changes, since aggregated roles can be aggregated too. */
  async #work(): Promise<void> {
    while (this.#isStale && !this.#isClosed) {
      this.#isStale = false;
      try {
        for (const role of this.#roles.values()) if (role.aggregationRule !== undefined) await this.#aggregate(role);
      } catch (error) {
        if (this.#isClosed) return;
        this.#log.warn({ err: error }, 'failed to aggregate roles, retrying');
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => void this.settled(), retryMs); // never rejects
        return;
      }
    }
  }

  async #aggregate(role: ClusterRole): Promise<void> {
    const rules = aggregatedRules(role, this.#roles.values());
    if (equalJson(rules, role.rules ?? [])) return;
    const { name = '' } = role.metadata;
    // The role may have lost its aggregationRule meanwhile.
    const revise = (old: ClusterRole): ClusterRole => (old.aggregationRule === undefined ? old : { ...old, rules });
    const request = serverRequest({ namespace: '', name, manager });
    await ignoreNotFound(
      updateObject(this.#context, this.#resource, request, {
        revise: (old) => revise(old as ClusterRole), // only called with ClusterRoles
      }),
    );
  }
}
