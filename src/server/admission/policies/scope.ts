// The writes to which policies and bindings apply, their parameters, and the variables of their expressions.

import type { MatchResources } from '../../../api/kinds/admissionregistration/match-resources.ts';
import type { ParamKind, ParamRef } from '../../../api/kinds/admissionregistration/policy-schema.ts';
import { namespaceKind } from '../../../api/kinds/core/namespace/kind.ts';
import type { Value } from '../../../api/cel/values.ts';
import { isStatusError } from '../../../api/errors.ts';
import type { Kind } from '../../../api/kind.ts';
import { apiVersionOf } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { requirementsOf } from '../../../api/selectors/label-selector.ts';
import { matchesLabels } from '../../../api/selectors/labels.ts';
import type { Authorizer } from '../../access/authorize.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Conversions } from '../../conversion/conversions.ts';
import type { ServedResources } from '../../served-resources.ts';
import type { AdmissionAttributes } from '../attributes.ts';
import { prepareReview, targetOf } from '../attributes.ts';
import { variablesOf } from '../expressions.ts';
import type { MatchCriteria } from '../matching.ts';
import { matchedKind } from '../matching.ts';

export interface PolicyScopeOptions {
  readonly watchCache: WatchCache;
  readonly resources: ServedResources;
  readonly access: Authorizer;
  /** Converts objects to the versions of the rules. */
  readonly conversions: Pick<Conversions, 'convert'>;
}

/** An error of a policy or a binding that the failure policy decides about. */
export class ConfigurationError extends Error {}

/** What policies read of the cluster. */
export class PolicyScope {
  readonly #options: PolicyScopeOptions;

  constructor(options: PolicyScopeOptions) {
    this.#options = options;
  }

  /** The kind in which a policy with these rules reviews the write; undefined if it does not apply. */
  matchedKind(match: MatchResources | undefined, attributes: AdmissionAttributes): Kind | undefined {
    return matchedKind(criteriaOf(match ?? {}), attributes, (namespace) => this.#namespace(namespace)?.metadata.labels);
  }

  /** Whether the binding applies to a write that its policy matches; without rules it applies to all of them. */
  isBound(matchResources: MatchResources | undefined, attributes: AdmissionAttributes): boolean {
    if (matchResources === undefined) return true;
    const { resourceRules = [] } = matchResources;
    return (
      this.matchedKind(
        { ...matchResources, resourceRules: resourceRules.length > 0 ? resourceRules : anyRule },
        attributes,
      ) !== undefined
    );
  }

  /** Converts the objects of a write for a policy. Throws a `ConfigurationError` with the prefix if the webhook fails. */
  async convert(attributes: AdmissionAttributes, kind: Kind, prefix = ''): Promise<void> {
    try {
      await prepareReview(attributes, kind, this.#options.conversions);
    } catch (error) {
      if (!isStatusError(error)) throw error;
      throw new ConfigurationError(`${prefix}${error.message}`, { cause: error });
    }
  }

  #namespace(name: string): ApiObject | undefined {
    const cache = this.#options.watchCache.of(namespaceKind);
    return cache.get(cache.key('', name))?.object;
  }

  /** The parameters of a binding; undefined stands for none. Throws a `ConfigurationError`. */
  paramsOf(
    paramKind: ParamKind | undefined,
    paramRef: ParamRef | undefined,
    attributes: AdmissionAttributes,
  ): readonly (ApiObject | undefined)[] {
    if (paramKind === undefined || paramRef === undefined) return [undefined];
    const within = attributes.kind === namespaceKind ? '' : targetOf(attributes).namespace;
    const kind = this.#options.resources.kinds.find(
      (each) => apiVersionOf(each) === paramKind.apiVersion && each.kind === paramKind.kind,
    );
    if (kind === undefined)
      throw new ConfigurationError(
        `paramKind kind \`${paramKind.apiVersion ?? ''}, Kind=${paramKind.kind ?? ''}\` not known`,
      );
    const { name = '', namespace = '', selector, parameterNotFoundAction } = paramRef;
    if (!kind.namespaced && namespace !== '') {
      throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    }
    const place = kind.namespaced ? namespace || within : '';
    if (kind.namespaced && place === '') {
      throw new ConfigurationError(
        'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
      );
    }
    const cache = this.#options.watchCache.of(kind.storage?.kind ?? kind);
    const items =
      name === ''
        ? cache.range(cache.scope(place))
        : [cache.get(cache.key(place, name))].filter((item) => item !== undefined);
    const requirements = name === '' ? (requirementsOf(selector ?? {}) ?? []) : [];
    const found = items
      .map(({ object }) => object)
      .filter(({ metadata }) => matchesLabels(requirements, metadata.labels))
      .map((object) => ({
        ...(kind.storage === undefined ? object : kind.storage.fromStorage(object)),
        apiVersion: apiVersionOf(kind),
        kind: kind.kind,
      }));
    if (found.length === 0 && parameterNotFoundAction === 'Deny') {
      throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
    }
    return found;
  }

  /** The variables of the expressions of a policy, without its parameters and its own variables. */
  variables(attributes: AdmissionAttributes, kind: Kind): Map<string, Value> {
    const { namespace: within } = targetOf(attributes);
    const namespace = within === '' || attributes.kind === namespaceKind ? undefined : this.#namespace(within);
    return variablesOf(attributes, kind, { access: this.#options.access, namespace });
  }
}

const anyRule = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];

const criteriaOf = ({ resourceRules = [], excludeResourceRules = [], ...match }: MatchResources): MatchCriteria => ({
  ...match,
  rules: resourceRules,
  excluded: excludeResourceRules,
});
