// What the kinds of the Gateway API share.

import type { FieldError } from '../../field-errors.ts';
import { invalidValue } from '../../field-errors.ts';
import type { Condition } from '../../metadata.ts';
import { condition } from '../../metadata.ts';
import { listMap } from '../../schema/schema.ts';

export type GatewayVersion = 'v1' | 'v1beta1' | 'v1alpha2';

/** The prefix of the names of schemas. */
export const schemaGroup = (version: GatewayVersion): string => `io.k8s.networking.gateway.${version}`;

export const conditions = listMap(condition, ['type'], { mergeKey: 'type' });

/** The conditions of an object that no controller has processed. */
export const pendingConditions = (...types: readonly string[]): readonly Condition[] =>
  types.map((type) => ({
    type,
    status: 'Unknown',
    lastTransitionTime: '1970-01-01T00:00:00Z',
    reason: 'Pending',
    message: 'Waiting for controller',
  }));

/** At most as many items as in the definitions of the Gateway API. */
export const countErrors = (
  path: string,
  values: readonly unknown[] | null | undefined,
  { least = 0, most }: { readonly least?: number; readonly most: number },
): readonly FieldError[] => {
  const count = values?.length ?? 0;
  if (count < least) return [invalidValue(path, count, `${path} in body should have at least ${least} items`)];
  return count > most ? [invalidValue(path, count, `${path} in body should have at most ${most} items`)] : [];
};

export const portErrors = (path: string, port: number | undefined): readonly FieldError[] =>
  port === undefined || (port >= 1 && port <= 65_535)
    ? []
    : [
        invalidValue(
          path,
          port,
          port < 1
            ? `${path} in body should be greater than or equal to 1`
            : `${path} in body should be less than or equal to 65535`,
        ),
      ];

/** Text that must match a pattern of the definitions. */
export const patternErrors = (path: string, text: string | undefined, pattern: RegExp): readonly FieldError[] =>
  text === undefined || pattern.test(text)
    ? []
    : [invalidValue(path, text, `${path} in body should match '${pattern.source.replaceAll('\\/', '/')}'`)];

/** The name of a listener or a rule. */
export const sectionName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
