import type { ListSchema, Schema, StructSchema } from '../../../api/schema/schema.ts';
import { byKey } from '../../../api/order.ts';
import { fieldElement } from './element.ts';

/**
 * The granularity of ownership in a schema: a `leaf` is owned as a whole, other values by their parts. The type of an
 * `undeclared` value, which only open structs have, is that of the value.
 */
export type Shape = LeafShape | UndeclaredShape | StructShape | MapShape | SetShape | ItemsShape;

export interface LeafShape {
  readonly kind: 'leaf';
}
export interface UndeclaredShape {
  readonly kind: 'undeclared';
}
export interface StructShape {
  readonly kind: 'struct';
  readonly fields: ReadonlyMap<string, FieldShape>;
  /** The fields in the order of `fieldsV1`. */
  readonly ordered: readonly FieldShape[];
  readonly open: boolean;
}
export interface MapShape {
  readonly kind: 'map';
  readonly values: Shape;
}
/** A list of distinct scalars. */
export interface SetShape {
  readonly kind: 'set';
}
/** A list of objects that are identified by key fields. */
export interface ItemsShape {
  readonly kind: 'items';
  /** Sorted by name. */
  readonly keys: readonly KeyShape[];
  readonly items: Shape;
}
export interface FieldShape {
  readonly name: string;
  readonly element: string;
  readonly shape: Shape;
  /** The value of the field if it was not sent; undefined if it is then absent. */
  readonly zero: unknown;
}
export interface KeyShape {
  readonly name: string;
  readonly default: unknown;
}

const leafShape: LeafShape = { kind: 'leaf' };
export const undeclared: UndeclaredShape = { kind: 'undeclared' };
const setShape: SetShape = { kind: 'set' };

// A shape is a pure function of its schema, so it is computed once per schema.
const shapes = new WeakMap<Schema, Shape>();

/** The shape of a schema. */
export function shapeOf(schema: Schema): Shape {
  let shape = shapes.get(schema);
  if (shape === undefined) {
    shape = deriveShape(schema);
    shapes.set(schema, shape);
  }
  return shape;
}

/** The shape of a kind, which is never a leaf. */
export function structShapeOf(schema: StructSchema): StructShape {
  const shape = shapeOf(schema);
  if (shape.kind !== 'struct') throw new Error(`bug: ${schema.name} is owned whole`);
  return shape;
}

/** The shape of a field or map entry. */
export function shapeAt(shape: Shape, key: string): Shape {
  if (shape.kind === 'struct') return shape.fields.get(key)?.shape ?? undeclared;
  return shape.kind === 'map' ? shape.values : undeclared;
}

function deriveShape(schema: Schema): Shape {
  switch (schema.type) {
    case 'struct':
      return schema.atomic ? leafShape : deriveStruct(schema);
    case 'map':
      return schema.atomic ? leafShape : { kind: 'map', values: shapeOf(schema.values) };
    case 'list':
      return deriveList(schema);
    case 'opaque':
      return shapeOf(schema.merged);
    case 'boolean':
    case 'int32':
    case 'int64':
    case 'double':
    case 'bytes':
    case 'time':
    case 'microTime':
    case 'quantity':
    case 'intOrString':
    case 'json':
    case 'string':
      return leafShape;
  }
}

function deriveStruct(schema: StructSchema): StructShape {
  const ordered = Object.entries(schema.fields)
    .toSorted(byKey)
    .map(([name, field]) => ({
      name,
      element: fieldElement(name),
      shape: shapeOf(field.schema),
      zero: field.presence === 'always' ? zeroOf(field.schema) : undefined,
    }));
  return { kind: 'struct', fields: new Map(ordered.map((field) => [field.name, field])), ordered, open: schema.open };
}

function deriveList(schema: ListSchema): Shape {
  switch (schema.listType) {
    case 'atomic':
      return leafShape;
    case 'set':
      return setShape;
    case 'map': {
      const fields = schema.items.type === 'struct' ? schema.items.fields : {};
      const keys = schema.keys.toSorted().map((name) => ({ name, default: fields[name]?.default }));
      return { kind: 'items', keys, items: shapeOf(schema.items) };
    }
  }
}

/** The zero value that Go writes for a type; never undefined. */
function zeroOf(schema: Schema): unknown {
  switch (schema.type) {
    case 'struct':
      return Object.fromEntries(
        Object.entries(schema.fields)
          .filter(([, field]) => field.presence === 'always')
          .map(([name, field]) => [name, zeroOf(field.schema)]),
      );
    case 'boolean':
      return false;
    case 'int32':
    case 'int64':
    case 'double':
    case 'intOrString':
      return 0;
    case 'string':
      return '';
    case 'quantity':
      return '0';
    case 'list':
    case 'map':
    case 'bytes':
    case 'time':
    case 'microTime':
    case 'json':
    case 'opaque':
      return null;
  }
}
