// The version in which a kube-apiserver stores definitions; it serves only v1.

import { isJsonObject } from '../../../schema/json-object.ts';
import type { JsonObject } from '../../../schema/json-object.ts';

/** The definition in v1, of one in v1beta1; any other value as it is. */
export function fromV1beta1(value: unknown): unknown {
  if (!isJsonObject(value) || value['apiVersion'] !== 'apiextensions.k8s.io/v1beta1') return value;
  return { ...value, apiVersion: 'apiextensions.k8s.io/v1', spec: specOf(objectIn(value['spec'])) };
}

const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.map(objectIn) : []);

/** What all versions have in common is at the top, not in each version. */
function specOf({ version, validation, subresources, additionalPrinterColumns, ...spec }: JsonObject): JsonObject {
  const { versions, selectableFields, conversion, preserveUnknownFields, ...rest } = spec;
  const found = objectsIn(versions);
  const all = found.length > 0 ? found : [{ name: version, served: true, storage: true }];
  return {
    ...rest,
    versions: all.map(({ schema = validation, additionalPrinterColumns: columns, ...each }) =>
      withoutAbsent({
        subresources,
        selectableFields,
        ...each,
        schema,
        additionalPrinterColumns: columnsOf(columns ?? additionalPrinterColumns),
      }),
    ),
    ...(isJsonObject(conversion) ? { conversion: conversionOf(conversion) } : {}),
    ...(preserveUnknownFields === false ? {} : { preserveUnknownFields: true }), // the default of v1beta1
  };
}

const columnsOf = (columns: unknown): unknown =>
  columns === undefined
    ? undefined
    : objectsIn(columns).map(({ JSONPath: jsonPath, ...rest }) => ({ ...rest, jsonPath }));

function conversionOf({
  strategy,
  webhookClientConfig: clientConfig,
  conversionReviewVersions,
}: JsonObject): JsonObject {
  if (strategy !== 'Webhook') return { strategy };
  return { strategy, webhook: withoutAbsent({ clientConfig, conversionReviewVersions }) };
}

const withoutAbsent = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
