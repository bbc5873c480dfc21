// The syntax tree of CEL expressions.

/** An error in an expression, at an offset in its text. */
export class CelSyntaxError extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export type Literal = null | boolean | bigint | number | string | Uint8Array | { readonly uint: bigint };

interface At {
  /** The offset in the text, for messages. */
  readonly at: number;
}

export type Expression = At &
  (
    | { readonly is: 'literal'; readonly value: Literal }
    | { readonly is: 'name'; readonly name: string }
    /** `operand.field`, or `operand.?field` */
    | { readonly is: 'select'; readonly operand: Expression; readonly field: string; readonly isOptional: boolean }
    /** `operand[index]`, or `operand[?index]` */
    | { readonly is: 'index'; readonly operand: Expression; readonly index: Expression; readonly isOptional: boolean }
    /** A function, or a method if there is a target. Operators are functions such as `_+_`. */
    | {
        readonly is: 'call';
        readonly target: Expression | undefined;
        readonly name: string;
        readonly args: readonly Expression[];
      }
    | { readonly is: 'list'; readonly items: readonly Expression[]; readonly optional: ReadonlySet<number> }
    | {
        readonly is: 'map';
        readonly entries: readonly (readonly [key: Expression, value: Expression])[];
        readonly optional: ReadonlySet<number>;
      }
    /** `Type.name{field: value}` */
    | {
        readonly is: 'construct';
        readonly typeName: string;
        readonly fields: readonly (readonly [name: string, value: Expression])[];
        readonly optional: ReadonlySet<number>;
      }
  );
