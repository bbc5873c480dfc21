// The CEL rules of a definition, which of them objects evaluate, and objects that reach each of them.

import { gatesWith } from '../../src/api/gates.ts';
import type { Kind, WriteContext } from '../../src/api/kind.ts';
import { customResourceDefinitionKind } from '../../src/api/kinds/apiextensions/customresourcedefinition/kind.ts';
import type { CustomResourceDefinition } from '../../src/api/kinds/apiextensions/customresourcedefinition/schema.ts';
import { servedKinds } from '../../src/api/kinds/apiextensions/customresourcedefinition/served-kinds.ts';
import type { ApiObject } from '../../src/api/metadata.ts';
import { decode } from '../../src/api/schema/decode.ts';
import { isJsonObject } from '../../src/api/schema/json-object.ts';
import { rulesOf } from '../../src/api/structural/cel-rules.ts';
import type { JsonSchema } from '../../src/api/structural/json-schema.ts';
import { itemsOf, valuesOf } from '../../src/api/structural/json-schema.ts';

/** A step into an object: a field, 0 for the first item of a list, or `key` of a map. */
type Step = string | 0;

/** One rule of one version. */
export interface DefinedRule {
  /** Such as `gateways v1 spec.listeners.0: self.size() > 0`. */
  readonly name: string;
  /** It compares with the object before, so that only updates evaluate it. */
  readonly isTransition: boolean;
  /** The smallest object that has the part with the rule. */
  readonly sample: Readonly<Record<string, unknown>>;
  evaluations: number;
}

/** The kinds of a definition, with counters of the evaluations of their rules. */
export interface CountedKinds {
  readonly rules: readonly DefinedRule[];
  /** Creates the object, and updates it to itself; errors are ignored. False: the definition does not have its version. */
  evaluate(object: Readonly<Record<string, unknown>>): boolean;
}

/** Counts the evaluations of all rules of a definition from now on. */
export function countRules(definition: object): CountedKinds {
  const read = customResourceDefinitionKind.readStored?.(definition) as CustomResourceDefinition; // of its kind
  const crd = { ...read, status: { ...read.status, acceptedNames: read.spec.names } };
  const kinds = servedKinds(crd);
  const rules = (crd.spec.versions ?? []).flatMap(({ name: version, schema }) => {
    const root = schema?.openAPIV3Schema;
    return root === undefined ? [] : [...rulesIn(root, crd, version)];
  });
  return {
    rules,
    evaluate(object) {
      const kind = kinds.find(({ group, version }) => `${group}/${version}` === object['apiVersion']);
      if (kind !== undefined) evaluate(kind, object);
      return kind !== undefined;
    },
  };
}

const context: WriteContext = { gates: gatesWith({}), loopbackEndpoints: [] };

function evaluate(kind: Kind, object: object): void {
  try {
    const { object: decoded } = decode<ApiObject>(kind.schema, object);
    const complete = kind.applyDefaults(decoded);
    kind.validateCreate(complete, context);
    kind.validateUpdate(complete, complete, context);
  } catch {
    // It cannot be decoded, and has not been evaluated.
  }
}

interface Part {
  readonly schema: JsonSchema;
  readonly path: readonly Step[];
  readonly isResource: boolean;
}

function* rulesIn(root: JsonSchema, { spec }: CustomResourceDefinition, version: string): Generator<DefinedRule> {
  for (const { schema, path, isResource } of partsOf({ schema: root, path: [], isResource: true })) {
    const compiled = rulesOf(schema, isResource);
    if (compiled.length === 0) continue;
    const sample = {
      ...(objectOf(root, path) as object),
      apiVersion: `${spec.group}/${version}`,
      kind: spec.names.kind,
      metadata: { name: 'sample' },
    };
    for (const { rule, program, usesOldSelf } of compiled) {
      const isTransition = usesOldSelf && rule.optionalOldSelf !== true;
      const name = `${spec.names.plural} ${version} ${path.join('.')}: ${rule.rule.trim()}`;
      const counted: DefinedRule = { name, isTransition, sample, evaluations: 0 };
      if (program !== undefined) {
        const { run } = program;
        const counting: typeof run = (scope) => {
          counted.evaluations++;
          return run(scope);
        };
        Object.assign(program, { run: counting });
      }
      yield counted;
    }
  }
}

function* partsOf(part: Part): Generator<Part> {
  yield part;
  const { schema, path } = part;
  const below = (step: Step, inner: JsonSchema): Part => ({
    schema: inner,
    path: [...path, step],
    isResource: inner['x-kubernetes-embedded-resource'] === true,
  });
  const [items, values] = [itemsOf(schema), valuesOf(schema)];
  if (items !== undefined) yield* partsOf(below(0, items));
  if (values !== undefined) yield* partsOf(below('key', values));
  for (const [name, property] of Object.entries(schema.properties ?? {})) yield* partsOf(below(name, property));
}

/** The smallest value that a schema accepts and that has the part at `path`. */
function objectOf(schema: JsonSchema, path: readonly Step[]): unknown {
  const [step, ...rest] = path;
  const value = smallest(schema);
  if (step === undefined) return value;
  if (step === 0) {
    const items = Array.isArray(value) ? value : [];
    return [objectOf(itemsOf(schema) ?? {}, rest), ...items.slice(1)];
  }
  const inner = schema.properties?.[step] ?? valuesOf(schema) ?? {};
  return { ...(isJsonObject(value) ? value : {}), [step]: objectOf(inner, rest) };
}

const formats: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  duration: '1s',
  byte: 'AAEC',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  cidr: '192.0.2.0/24',
  uri: 'https://example.org/',
};

/** A value of a schema with what it requires; patterns may reject it. */
function smallest(schema: JsonSchema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum?.[0] !== undefined) return schema.enum[0];
  if (schema['x-kubernetes-int-or-string'] === true) return 1;
  switch (schema.type ?? '') {
    case 'object':
      return smallestObject(schema);
    case 'array': {
      const items = itemsOf(schema);
      return Array.from({ length: schema.minItems ?? 0 }, () => (items === undefined ? {} : smallest(items)));
    }
    case 'string':
      return formats[schema.format ?? ''] ?? 'a'.repeat(schema.minLength ?? 1);
    case 'integer':
    case 'number':
      return schema.minimum ?? Math.min(1, schema.maximum ?? 1);
    case 'boolean':
      return true;
    default:
      return {};
  }
}

function smallestObject(schema: JsonSchema): unknown {
  const chosen = [schema.oneOf?.[0], schema.anyOf?.[0], ...(schema.allOf ?? [])];
  const required = new Set([schema, ...chosen].flatMap((each) => each?.required ?? []));
  const fields = [...required].map((name) => [name, smallest(schema.properties?.[name] ?? {})]);
  const values = valuesOf(schema);
  if (fields.length === 0 && values !== undefined && (schema.minProperties ?? 0) > 0) return { key: smallest(values) };
  return Object.fromEntries(fields);
}
