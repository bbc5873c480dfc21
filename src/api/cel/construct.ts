// Objects and patches that expressions of mutations construct: `Object.spec{replicas: 3}` and `JSONPatch{op: 'add', …}`.

import type { CelType } from './cel-type.ts';
import { dyn, isAssignable, printType, string } from './cel-type.ts';
import type { Environment, Node } from './node.ts';
import { fail } from './node.ts';
import type { Expression } from './syntax.ts';
import { Constructed, Optional } from './values.ts';
import type { Value } from './values.ts';

const patchFields: ReadonlyMap<string, CelType> = new Map([
  ['op', string],
  ['path', string],
  ['from', string],
  ['value', dyn],
]);

/** The type of a JSON patch operation. */
const patchType: CelType = { name: 'object', typeName: 'JSONPatch', fields: patchFields };

/** The type of an object or of a field in it; the name of the type repeats the path: `Object.spec.template`. */
const constructedType = (typeName: string): CelType => ({ name: 'object', typeName });

function typeNamed(name: string): CelType | undefined {
  if (name === patchType.typeName) return patchType;
  return name === 'Object' || name.startsWith('Object.') ? constructedType(name) : undefined;
}

/** The type of a field of a constructed type: objects can have any field; undefined if there is none. */
export const fieldOfConstructed = ({ fields }: CelType, field: string): CelType | undefined =>
  fields === undefined ? dyn : fields.get(field);

/** The cost of constructing an object, in cel-go. */
const constructionCost = 40;

type Construct = Extract<Expression, { is: 'construct' }>;

/** Compiles `Type{field: value}`. */
export function compileConstruct(
  expression: Construct,
  env: Environment,
  compile: (expression: Expression, env: Environment) => Node,
): Node {
  const { typeName, optional } = expression;
  const type = env.patchTypes ? typeNamed(typeName) : undefined;
  if (type === undefined) throw fail(`undeclared reference to '${typeName}' (in container '')`, expression);
  const fields = expression.fields.map(([name, value], index) => {
    const wanted = fieldOfConstructed(type, name);
    if (wanted === undefined) throw fail(`undefined field '${name}'`, value);
    const node = compile(value, env);
    const given = optional.has(index) && node.type.name === 'optional_type' ? (node.type.of ?? dyn) : node.type;
    if (!isAssignable(given, wanted)) {
      const types = `'${printType(wanted)}' but provided type is '${printType(given)}'`;
      throw fail(`expected type of field '${name}' is ${types}`, value);
    }
    return [name, node] as const;
  });
  return {
    type,
    cost: fields.reduce((sum, [, { cost }]) => sum + cost, constructionCost),
    run(scope) {
      scope.spend(constructionCost);
      const made = new Map<string, Value>();
      for (const [index, [name, node]] of fields.entries()) {
        const value = node.run(scope);
        const present = optional.has(index) && value instanceof Optional ? value.value : value;
        if (present !== undefined) made.set(name, present);
      }
      return new Constructed(typeName, made);
    },
  };
}
