import type { JsonSchema } from './json-schema.ts';
import { itemsOf, valuesOf } from './json-schema.ts';

/** A schema and all schemas in it. */
export function everySchema(schema: JsonSchema | undefined): readonly JsonSchema[] {
  const found: JsonSchema[] = [];
  const visit = (each: JsonSchema | undefined): void => {
    if (each === undefined) return;
    found.push(each);
    visit(itemsOf(each));
    visit(valuesOf(each));
    visit(each.not);
    for (const nested of [each.allOf, each.anyOf, each.oneOf]) nested?.forEach(visit);
    for (const property of Object.values(each.properties ?? {})) visit(property);
  };
  visit(schema);
  return found;
}
