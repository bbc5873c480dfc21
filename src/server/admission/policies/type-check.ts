// Checks the expressions of a validating policy against the types of the objects that it matches.

import type { CelType } from '../../../api/cel/cel-type.ts';
import { compileVariables } from '../../../api/kinds/admissionregistration/policy-expressions.ts';
import type { ParamKind } from '../../../api/kinds/admissionregistration/policy-schema.ts';
import type { PolicySpec } from '../../../api/kinds/admissionregistration/validatingadmissionpolicy/schema.ts';
import type { Kind } from '../../../api/kind.ts';
import { apiVersionOf } from '../../../api/kind.ts';
import { compareText } from '../../../api/order.ts';
import { celTypeOfSchema } from '../../../api/structural/schema-type.ts';
import type { ServedResources } from '../../served-resources.ts';

/** Kubernetes checks at most so many kinds of a rule. */
const maxKinds = 10;

interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** The warnings of kube-controller-manager for `status.typeChecking`. */
export function typeWarnings(spec: PolicySpec, resources: ServedResources): readonly ExpressionWarning[] {
  const checked = kindsOf(spec, resources).map((kind) => ({ kind, type: celTypeOfSchema(kind.schema) }));
  const params = paramsType(spec.paramKind, resources);
  const warn = (fieldRef: string, text: string): readonly ExpressionWarning[] => {
    const problems = checked.flatMap(({ kind, type }) => {
      const { compile } = compileVariables(spec, { object: type, params });
      const { problem } = compile(text, []);
      return problem === undefined ? [] : [`${nameOf(kind)}: ${problem}\n`];
    });
    return problems.length === 0 ? [] : [{ fieldRef, warning: problems.join('\n') }];
  };
  return (spec.validations ?? []).flatMap(({ expression, messageExpression = '' }, index) => [
    ...warn(`spec.validations[${index}].expression`, expression),
    ...(messageExpression === '' ? [] : warn(`spec.validations[${index}].messageExpression`, messageExpression)),
  ]);
}

const nameOf = ({ group, version, kind }: Kind): string => `${group}/${version}, Kind=${kind}`;

function paramsType(paramKind: ParamKind | undefined, { kinds }: ServedResources): CelType | false {
  if (paramKind === undefined) return false;
  const kind = kinds.find((each) => apiVersionOf(each) === paramKind.apiVersion && each.kind === paramKind.kind);
  return kind === undefined ? false : celTypeOfSchema(kind.schema);
}

/** The kinds that the rules name without wildcards, sorted. */
function kindsOf({ matchConstraints }: PolicySpec, resources: ServedResources): readonly Kind[] {
  const found = new Set<Kind>();
  for (const { apiGroups = [], apiVersions = [], resources: named = [] } of matchConstraints?.resourceRules ?? []) {
    if ([...apiGroups, ...apiVersions].some((word) => word.includes('*'))) continue;
    const kinds = apiGroups.flatMap((group) =>
      apiVersions.flatMap((version) =>
        named
          .filter((resource) => !/[*/]/.test(resource))
          .flatMap((resource) => resources.at(group, version, resource)?.kind ?? []),
      ),
    );
    for (const kind of kinds.slice(0, maxKinds)) found.add(kind);
  }
  return [...found].sort(
    (a, b) => compareText(a.group, b.group) || compareText(a.version, b.version) || compareText(a.kind, b.kind),
  );
}
